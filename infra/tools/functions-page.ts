import { type FunctionRecord, nameOf } from '#shared/doctor/functions.ts'
import type { OpenPolicy } from './open-policies.ts'

/** What a function may check before it acts. Add a proof here before a comment names it. */
const PROOFS: Readonly<Record<string, string>> = {
  scope: 'the tenant that the transaction entered',
  ticket: 'what a session check, a lease or an operator got, sealed for 30 seconds',
  'tenant proof': 'what `authorize` gives to another service, sealed for a minute',
  'token hash': "the hash of a session's token, or of the token of a mail's link",
  'password digest': 'the digest of the current password',
  witness: 'what code with the factor key alone computes of a factor, after it has checked a code or a passkey',
  'credential id': 'the id of a passkey, which an authenticator made at random',
  'code hash': 'the hash of a recovery code',
  lease: 'the token of a lease that has not ended',
  'service key': 'the hash of a key of a service',
  'api key': 'the hash of an API key of a tenant',
  'audit entry': 'a committed audit entry of the opening',
  grant: 'what an operator granted to the login',
}

const row = (...cells: string[]): string => `| ${cells.join(' | ')} |`
const roles = (names: readonly string[]): string => names.join(', ') || 'nobody'
const proofs = (names: readonly string[]): string => names.join(', ') || 'none'

/** Returns the page of the functions. Throws for a proof that PROOFS does not explain, and for an open policy without a reason. */
export function functionsPage(
  functions: Readonly<Record<string, FunctionRecord>>,
  policies: readonly OpenPolicy[],
): string {
  const open = policies.map(({ table, policy, role, why }) => {
    if (why === null)
      throw new Error(`the policy ${policy} on app.${table} does not compare the tenant: say why in a comment on it`)
    return row(`\`${table}\``, `\`${policy}\``, role, why)
  })
  const entries = Object.entries(functions).map(([signature, record]) => {
    const name = nameOf(signature)
    const unknown = record.proof.find((proof) => !Object.hasOwn(PROOFS, proof))
    if (unknown !== undefined) {
      throw new Error(
        `app.${name} wants the proof "${unknown}", which PROOFS in infra/tools/functions-page.ts does not explain`,
      )
    }
    return [`\`${name}\``, record] as const
  })
  const definers = entries.flatMap(([name, { owner, proof, callers, definer }]) =>
    definer === undefined ? [] : [row(name, owner, proofs(proof), roles(callers), definer)],
  )
  const others = entries.flatMap(([name, { proof, callers, definer }]) =>
    definer === undefined ? [row(name, proofs(proof), roles(callers))] : [],
  )
  const qualified = entries.flatMap(([name, { qualified: why }]) =>
    why === undefined ? [] : [row(name, 'has no `search_path`', why)],
  )
  const long = entries.flatMap(([name, { long: why }]) =>
    why === undefined ? [] : [row(name, 'has more than 60 lines', why)],
  )
  return `# The functions of the database

\`npm run grants\` writes this page from the comments on the functions. Change the comment in the migration, not this page.
[README.md](README.md#add-a-function) explains the keys of a comment.

## Functions that bypass row security

They are SECURITY DEFINER: they have the rights of their owner. There is no other way past the policies of a tenant.

| Function of \`app\` | Owner | Proof | Callers | Why it is a definer |
|---|---|---|---|---|
${definers.join('\n')}

## Policies that ignore the tenant

The owner of a function sees no row of a guarded table without one of these.

| Table of \`app\` | Policy | Role | Why |
|---|---|---|---|
${open.join('\n')}

## What a proof is

| Proof | What the function checks |
|---|---|
${Object.entries(PROOFS)
  .map(([proof, text]) => row(proof, text))
  .join('\n')}
| none | nothing: its callers may do this, and nobody else |

## Functions with the rights of their caller

\`identity_owner\` owns them.

| Function of \`app\` | Proof | Callers |
|---|---|---|
${others.join('\n')}

## Exceptions

| Function of \`app\` | What it does not keep | Why |
|---|---|---|
${[...qualified, ...long].join('\n')}
`
}
