import type postgres from 'postgres'
import type { Guarantee } from './guarantee.ts'

/** A guard, the statements that remove it, and the guarantees that must break. */
export type Guard = readonly [guard: string, statements: readonly string[], needed: readonly Guarantee[]]

/** The start of another app.current_tenant. */
export const CURRENT_TENANT =
  'create or replace function app.current_tenant() returns uuid language sql stable parallel safe'

/** The event trigger would restore the guard of a partition immediately. */
export const NO_EVENT_TRIGGER = 'alter event trigger guard_partitions disable'

/** Replaces a part of a statement wherever it occurs. Throws when the part is missing. */
export function replaced(text: string, part: string, by: string): string {
  if (!text.includes(part)) throw new Error(`no ${part} in ${text}`)
  return text.replaceAll(part, by)
}

export interface Policy {
  readonly table: string
  readonly policy: string
  readonly command: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'
  readonly role: string
  readonly qual: string | null
  readonly check: string | null
}

/** Returns the policies that let rows through. */
export const policiesOf = async (admin: postgres.Sql): Promise<readonly Policy[]> => admin<Policy[]>`
  select schemaname || '.' || tablename as table, policyname as policy, cmd as command, roles[1] as role,
         qual, with_check as check from pg_policies
   where permissive = 'PERMISSIVE' and format('%I.%I', schemaname, tablename)::regclass not in (select inhrelid from pg_inherits)
   order by 1, 2`

export interface Body {
  readonly name: string
  readonly definition: string
}

/** Returns the functions of the service, each as the statement that creates it. */
export const bodiesOf = async (admin: postgres.Sql): Promise<readonly Body[]> => admin<Body[]>`
  select oid::regproc::text as name, pg_get_functiondef(oid) as definition from pg_proc
   where pronamespace = 'app'::regnamespace and prokind = 'f'`
