import type postgres from 'postgres'

/** Runs `work` while every insert and update of these tables fails, with messages that repeat the row and the statement. */
export async function whileRefused(admin: postgres.Sql, tables: readonly string[], work: () => Promise<void>) {
  const triggers = tables.map(
    (table) => `create trigger refuse before insert or update on ${table} for each row execute function app.refuse();`,
  )
  await admin.unsafe(`
    create function app.refuse() returns trigger language plpgsql as $$
    begin
      raise exception 'refused: %', new using errcode = '22P02', detail = new::text, hint = current_query();
    end $$;
    ${triggers.join('\n')}`)
  try {
    await work()
  } finally {
    await admin`drop function app.refuse cascade`
  }
}
