/**
 * The argument types of the function `p` of pg_proc, as SQL. Names the schema of our own types, also when the search_path of the session
 * has it.
 */
export const ARGUMENT_TYPES = `(
  select coalesce(string_agg(
           case when t.typnamespace = to_regnamespace('app') then format('app.%I', t.typname) else format_type(t.oid, null) end,
           ', ' order by a.place), '')
    from unnest(p.proargtypes) with ordinality as a(type, place) join pg_type t on t.oid = a.type)`
