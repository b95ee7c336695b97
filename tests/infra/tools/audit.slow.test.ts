import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type HttpServer, json, type LocalReply, startHttpServer } from '#infra/local/http-server.ts'

const { packages }: { packages: Record<string, { version: string }> } = JSON.parse(
  await readFile('package-lock.json', 'utf8'),
)

let registry: HttpServer
let cache: string
beforeEach(async () => {
  // npm keeps what it learns about an advisory.
  cache = await mkdtemp(join(tmpdir(), 'tenantry-audit-'))
})
afterEach(async () => {
  await registry.close()
  await rm(cache, { recursive: true })
})

/** Runs `npm run audit` against a registry that gives this reply to a request for advisories. */
async function audit(advisories: LocalReply) {
  registry = await startHttpServer({
    answer: ({ method, url }) => {
      if (method === 'POST' && url.pathname === '/-/npm/v1/security/advisories/bulk') return advisories
      // npm also asks for the packages that depend on one with an advisory.
      const name = decodeURIComponent(url.pathname.slice(1))
      const version = packages[`node_modules/${name}`]?.version ?? '0.0.0'
      return json(200, { name, 'dist-tags': { latest: version }, versions: { [version]: { name, version } } })
    },
  })
  const npm = { npm_config_registry: registry.url, npm_config_cache: cache, npm_config_fetch_retries: '0' }
  const env = { ...process.env, ...npm }
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, ['infra/tools/audit.ts'], { env })) }
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string }
  }
}

const advisory = (severity: string) =>
  json(200, {
    postgres: [{ id: 1, title: 'Planted', url: 'https://advisories.test/1', severity, vulnerable_versions: '<9' }],
  })

it.each([
  ['fails on an advisory of high severity, and names it', advisory('high'), 1, /^high postgres: Planted https:/],
  ['passes with a line for an advisory of moderate severity', advisory('moderate'), 0, /^moderate postgres: Planted/],
  ['passes without advisories', json(200, {}), 0, /with advisories: 0, high or critical: 0\./],
  ['passes with a notice when the registry serves no advisories', json(405, {}), 0, /^NOT AUDITED: .*405/],
])('%s', async (_, reply, code, line) => {
  expect(await audit(reply)).toMatchObject({ code, stdout: expect.stringMatching(line) })
})

it('fails when the registry fails, instead of passing unseen', async () => {
  expect(await audit(json(500, {}))).toMatchObject({ code: 2, stderr: expect.stringContaining('Could not audit') })
})
