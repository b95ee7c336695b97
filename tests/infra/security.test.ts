import { existsSync, readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const text = (file: string): string => readFileSync(new URL(file, root), 'utf8')
const page = text('infra/security.md')

// What has cryptography in it. `fetch` and the AWS SDK bring TLS of their own.
const MODULES = 'node:crypto|node:tls|node:https|hash-wasm|@aws-sdk/client-kms'

/** Returns the names of cryptography that a file imports or calls: functions, and the commands of KMS. */
function cryptography(source: string): string[] {
  const imported = [...source.matchAll(new RegExp(`\\{([^{}]*)\\} from '(?:${MODULES})'`, 'g'))]
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.trim().split(' as ')[0] ?? '')
  const global = [
    ...source.matchAll(/\b(?:crypto\.subtle|crypto\.argon2|crypto\.getRandomValues|Math\.random)\b/g),
  ].flat()
  // Ids are no secrets, and any function may make them.
  const calls = imported.filter((name) => /^[a-z]\w*$|Command$/.test(name) && name !== 'randomUUID')
  return [...calls, ...global]
}

/** Returns the functions of cryptography that a migration calls: those of Postgres, and of pgcrypto. */
const cryptographyOfSql = (source: string): string[] =>
  [...source.matchAll(/\b(sha(?:224|256|384|512)|md5|hmac|crypt|digest|gen_salt|gen_random_bytes|random)\(/g)].map(
    ([, name = '']) => name,
  )

it('names only files and folders that exist', () => {
  const named = [...page.matchAll(/`((?:functions|infra|migrations|shared|tests)\/[\w./-]+)`/g)].map(
    ([, file = '']) => file,
  )
  expect(named).not.toEqual([])
  expect(named.filter((file) => !existsSync(new URL(file, root)))).toEqual([])
})

it('lists each file that calls cryptography, and what it calls', async () => {
  const found = new Map<string, string>()
  for await (const file of glob(['{functions,shared,infra}/**/*.ts', 'packages/*/src/**/*.ts', 'migrations/*.sql'], {
    cwd: root,
  })) {
    if (file.startsWith('infra/local/')) continue
    const names = file.endsWith('.sql') ? cryptographyOfSql(text(file)) : cryptography(text(file))
    if (names.length > 0) found.set(file, [...new Set(names)].toSorted().join(' '))
  }
  const table = page.slice(page.indexOf('| File | Calls'), page.indexOf('### Rules for keys'))
  const listed = new Map(
    [...table.matchAll(/^\| `([^`]+)` \| ([^|]+) \|/gm)].map(([, file = '', names = '']) => [
      file,
      names.replaceAll('`', '').trim(),
    ]),
  )
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(found))
})
