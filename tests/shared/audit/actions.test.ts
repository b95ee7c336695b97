import { glob, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { AUDIT_ACTIONS } from '#shared/audit/actions.ts'
import { PERMISSIONS } from '#shared/identity/permissions.ts'

it('lists every audit action that SQL writes, with its target type', async () => {
  const sources: string[] = []
  const cwd = fileURLToPath(new URL('../../../', import.meta.url))
  for await (const file of glob('{migrations/*.sql,functions/*/*/*queries.ts}', { cwd })) {
    sources.push(await readFile(`${cwd}${file}`, 'utf8'))
  }
  // In SQL, an action, a permission, a setting and the name of an object have the same form.
  const names = [...sources.join('\n').matchAll(/'([a-z_]+\.[a-z_]+)'(?:, '([a-z_]+)')?/g)]
  const actions = names.filter(
    ([, name = '']) => !/^(app\.|pg_|revocation\.)/.test(name) && !PERMISSIONS.some((one) => one === name),
  )
  expect(actions.length).toBeGreaterThan(2)
  expect(Object.keys(AUDIT_ACTIONS)).toEqual(expect.arrayContaining(actions.map(([, action]) => action)))
  for (const [, action = '', target] of actions) {
    if (target !== undefined) expect(new Map(Object.entries(AUDIT_ACTIONS)).get(action)?.target, action).toBe(target)
  }
})
