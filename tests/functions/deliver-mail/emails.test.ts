import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Message } from '#infra/local/mail/kept-email.ts'
import { shopName } from '#shared/identity/shop-name.ts'
import { newToken } from '#shared/secret/secret.ts'
import { tokenEncodings } from '#tests/support/encodings.ts'
import { tokenIn } from '#tests/support/mail.ts'
import { createMember, createUser, createTenant } from '#tests/support/minted-session.ts'
import { rawRequest } from '#tests/support/raw-http.ts'
import { PASSWORD, startService } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const HOSTILE = `<img src=x onerror=alert(1)> "&' {{1234*4321}} \${7*7}\r\nBcc: x@evil.test\u2028</title><script>`

const service = useService()
// The templates must be safe on their own, should such a name get into the database.
beforeAll(async () => {
  await service.sql`alter domain app.one_line drop constraint one_line_check`
  await service.sql`alter table app.users drop constraint users_full_name_check`
  await service.sql`alter table app.tenants drop constraint tenants_slug_is_url_safe`
})

/** Sends each kind of email with hostile tenant and user names. */
async function sendAllKinds(slug: string): Promise<Record<string, Message | undefined>> {
  await createTenant(service.sql, slug)
  const owner = await createMember(service.sql, { email: `owner@${slug}.test`, slug })
  await service.sql`update app.tenants set slug = ${`${HOSTILE} ${slug}`}, legal_name = ${HOSTILE}, timezone = ${`No/Where${HOSTILE}`} where slug = ${slug}`
  await service.sql`update app.users set full_name = ${HOSTILE} where id = ${owner.userId}`
  const email = `new@${slug}.test`
  const found: Record<string, Message | undefined> = {}
  const send = async (kind: string, route: string, body?: object, token?: string): Promise<void> => {
    const { status, text } = await service.request(route, { token, body })
    if (status >= 300) throw new Error(`${route}: ${status} ${text}`)
    await service.mail.deliver()
    found[kind] = service.mail.to(kind === 'verification' ? `owner@${slug}.test` : email)[0]
  }
  await send('invitation', 'POST /v1/members/invite', { email, role: 'viewer' }, owner.token)
  const token = tokenIn(found['invitation'])
  await send('added', 'POST /v1/auth/invitations/accept', { token, password: PASSWORD })
  await service.sql`update app.users set full_name = ${HOSTILE} where email = ${email}`
  await send('verification', 'POST /v1/auth/verify/resend', undefined, owner.token)
  await send('reset', 'POST /v1/auth/password/forgot', { email })
  await send('changed', 'POST /v1/auth/password/reset', {
    token: tokenIn(found['reset']),
    password: 'a passphrase of the emails',
  })
  const [member] = await service.sql`
    select m.id from app.memberships m join app.users u on u.id = m.user_id where u.email = ${email}`
  await send('removed', `DELETE /v1/members/${member?.['id']}`, undefined, owner.token)
  return found
}

/** Returns the tags of a document in order. */
const tagsOf = (html: string): string[] => [...html.matchAll(/<([/!]?[a-z]+)/gi)].map(([, name]) => String(name))
const METAS = Array.from({ length: 5 }, () => 'meta')
const SHELL = ['!doctype', 'html', 'head', ...METAS, 'title', '/title', 'style', '/style', '/head', 'body', 'div']

describe('emails with hostile names', () => {
  it.each(['invitation', 'added', 'verification', 'reset', 'changed', 'removed'])(
    'escapes hostile tenant and user names in the email “%s”',
    async (kind) => {
      const message = (await sendAllKinds(`emails-${kind}`))[kind]
      const { subject, text, html, to, copies, headers } = message ?? {}
      if (subject === undefined || typeof text !== 'string' || typeof html !== 'string') throw new Error('no email')
      expect(subject).toMatch(/^[^\p{Cc}\u2028\u2029]+$/u)
      expect(to).toMatch(/^(new|owner)@emails-\w+\.test$/)
      expect(copies).toBe('')
      expect(headers).toEqual(['Auto-Submitted: auto-generated'])
      const tags = tagsOf(html)
      expect(tags.slice(0, SHELL.length)).toEqual(SHELL)
      expect(
        tags.slice(SHELL.length, -2).every((tag) => ['p', '/p', 'a', '/a', 'br', 'div', '/div'].includes(tag)),
      ).toBe(true)
      expect(tags.slice(-2)).toEqual(['/body', '/html'])
      for (const name of ['p', 'a', 'div'])
        expect(tags.filter((tag) => tag === name)).toHaveLength(tags.filter((tag) => tag === `/${name}`).length)
      expect(html).not.toMatch(/&(?!(amp|lt|gt|quot|#39);)/)
      expect(html).toContain('<meta name="referrer" content="no-referrer">')
      for (const document of [text, html]) {
        expect(document).not.toMatch(/^Bcc:/m)
        expect(document).not.toContain('5332114')
        expect(document).not.toMatch(/undefined|null|\[object|NaN|Invalid Date/)
      }
      if (['invitation', 'added', 'removed'].includes(kind)) {
        expect(text).toContain(
          `<img src=x onerror=alert(1)> "&' {{1234*4321}} \${7*7} Bcc: x@evil.test </title><script>`,
        )
        expect(html).toContain('&lt;img src=x onerror=alert(1)&gt; &quot;&amp;&#39; {{1234*4321}}')
      }
      const { webBaseUrl } = service.runtime.config.mail
      for (const [, href] of html.matchAll(/href="([^"]*)"/g)) expect(href?.startsWith(`${webBaseUrl}/`)).toBe(true)
      const link = new RegExp(`^${webBaseUrl}/[a-z-]*([?]token=[A-Za-z0-9_-]{43})?$`, 'm')
      if (kind !== 'removed') expect(text).toMatch(link)
    },
  )
})

describe('an invitation', () => {
  it('names the shop and the verified address of its inviter first, and never a name', async () => {
    const { slug, owner } = await service.newTenant('owner')
    await service.sql`update app.users set full_name = ${HOSTILE} where id = ${owner.userId}`
    const email = `guest@${slug}.test`
    const invitedBy = async (verified: Date | null): Promise<string[]> => {
      await service.sql`update app.users set email_verified_at = ${verified} where id = ${owner.userId}`
      await service.sql`delete from app.tokens`
      await service.request('POST /v1/members/invite', { token: owner.token, body: { email, role: 'viewer' } })
      await service.mail.deliver()
      const [message] = service.mail.to(email)
      expect(`${message?.text}${message?.html}`).not.toContain('alert')
      return [String(message?.subject), ...String(message?.text).split('\n\n', 2)]
    }
    const shop = shopName({ slug, legal_name: `Shop ${slug}` })
    const inviter = `owner@${slug}.test`
    expect(await invitedBy(new Date())).toEqual([
      `${inviter} invites you to ${shop}`,
      'Tenantry',
      `${inviter} invites you to work in ${shop}.`,
    ])
    expect(await invitedBy(null)).toEqual([
      `You are invited to ${shop}`,
      'Tenantry',
      `You are invited to work in ${shop}.`,
    ])
  })
})

describe('an email to a person', () => {
  const PHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Mobile/15E148 Safari/604.1'

  /** Delivers, and returns the newest email to an address as text. */
  const textTo = async (email: string): Promise<string> => {
    await service.mail.deliver()
    return String(service.mail.to(email)[0]?.text).replaceAll('\u202f', ' ')
  }

  it('names them, their account and the platform, and says the time of their shop', async () => {
    const { slug, owner } = await service.newTenant('owner')
    const email = `owner@${slug}.test`
    await service.sql`update app.users set full_name = 'Ann Archer' where id = ${owner.userId}`
    await service.sql`update app.tenants set timezone = 'America/Chicago' where slug = ${slug}`
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    const reset = await textTo(email)
    expect(reset).toContain('Hello Ann Archer,')
    expect(reset).toContain(`the account ${email} of Tenantry`)
    expect(reset).toMatch(/once, within 1 hour, until \w+ \d+, \d{4} at \d+:\d\d [AP]M Central Time\./)
    expect(reset).toContain(`Tenantry sent this email to ${email}.`)
    await service.request('POST /v1/auth/password/reset', {
      body: { token: tokenIn(service.mail.to(email)[0]), password: 'a passphrase of the person' },
      headers: { 'user-agent': PHONE },
    })
    const changed = await textTo(email)
    expect(changed).toMatch(/ was changed on .* Central Time, with Safari on iPhone\./)
    expect(changed).not.toContain('Mozilla')
  })

  it('says the time in UTC to somebody without a shop, and of no device when the program says none', async () => {
    const email = 'nobody@emails.test'
    await createUser(service.sql, { email })
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    expect(await textTo(email)).toMatch(/until .* UTC\./)
    await service.request('POST /v1/auth/password/reset', {
      body: { token: tokenIn(service.mail.to(email)[0]), password: 'a passphrase of the person' },
      headers: { 'user-agent': '"><b>from https://evil.test</b>' },
    })
    const changed = await textTo(email)
    expect(changed).toMatch(/ was changed on [^,]*, \d{4} at .* UTC\.\n/)
    expect(changed).not.toContain('evil')
  })
})

describe('the shop in an email', () => {
  it.each([
    ['Bolt Apparel', (slug: string) => `Bolt Apparel (${slug})`],
    ['Amazon.com, Inc.', (slug: string) => slug],
    ['Call 900–555–0100 now', (slug: string) => slug],
    ['visit evil.͏test', (slug: string) => slug],
    ['1234567', (slug: string) => slug],
  ])(
    'has its slug beside its legal name, or alone in the place of one that could mislead: %s',
    async (legal, shown) => {
      const { slug, owner } = await service.newTenant('owner')
      const patch = { token: owner.token, body: { legal_name: legal } }
      expect((await service.request('PATCH /v1/tenant', patch)).status).toBe(200)
      const email = `guest@${slug}.test`
      await service.request('POST /v1/members/invite', { token: owner.token, body: { email, role: 'viewer' } })
      await service.mail.deliver()
      const [message] = service.mail.to(email)
      expect(message?.subject.endsWith(` to ${shown(slug)}`), message?.subject).toBe(true)
      if (shown(slug) === slug) expect(`${message?.text}${message?.html}`).not.toContain(legal)
    },
  )
})

describe('the language of an email', () => {
  it('is the one that the user chose at the acceptance or later, and of the inviter for a new address', async () => {
    const { slug, owner } = await service.newTenant('owner')
    const email = `nueva@${slug}.test`
    const said = async (
      route: string,
      token: string | null,
      body?: object,
      to = email,
    ): Promise<(string | undefined)[]> => {
      const answer = await service.request(route, { ...(token === null ? {} : { token }), body })
      expect(answer.status, answer.text).toBeLessThan(300)
      await service.mail.deliver()
      const [message] = service.mail.to(to)
      return [message?.subject, /<html lang="(..)">/.exec(String(message?.html))?.[1]]
    }
    const shop = shopName({ slug, legal_name: `Shop ${slug}` })
    const change = (language: string) =>
      service.request('PATCH /v1/auth/profile', { token: owner.token, body: { language } })
    expect((await change('es')).status).toBe(204)
    expect((await service.request('GET /v1/auth/session', { token: owner.token })).body.user.language).toBe('es')
    const invite = { email, role: 'viewer' }
    expect(await said('POST /v1/members/invite', owner.token, invite)).toEqual([`Invitación a ${shop}`, 'es'])
    const accept = { token: tokenIn(service.mail.to(email)[0]), password: PASSWORD, language: 'es' }
    expect((await change('en')).status).toBe(204)
    const own = `owner@${slug}.test`
    expect(await said('POST /v1/auth/verify/resend', owner.token, undefined, own)).toEqual([
      'Confirm your email address',
      'en',
    ])
    expect(await said('POST /v1/auth/invitations/accept', null, accept)).toEqual([`Ya forma parte de ${shop}`, 'es'])
    expect(service.mail.to(email)[0]?.text).toContain('Su rol es: Lector.')
    expect(await said('POST /v1/auth/password/forgot', null, { email })).toEqual(['Cree una contraseña nueva', 'es'])
    const reset = { token: tokenIn(service.mail.to(email)[0]), password: 'otra contraseña de la persona' }
    expect(await said('POST /v1/auth/password/reset', null, reset)).toEqual(['Su contraseña ha cambiado', 'es'])
    const { data } = (await service.request('GET /v1/members?limit=100', { token: owner.token })).body
    const { id } = data.find(({ user }: any) => user.email === email)
    expect(await said(`DELETE /v1/members/${id}`, owner.token)).toEqual([`Ya no forma parte de ${shop}`, 'es'])
    expect((await change('fr')).status).toBe(422)
  })
})

describe('links in emails', () => {
  const WEB = 'https://app.shops.test/office'
  const EVIL = 'evil.test'
  const FORGERIES: readonly (readonly string[])[] = [
    ['host', EVIL],
    ['host', EVIL, 'x-forwarded-host', EVIL, 'forwarded', `host=${EVIL}`],
    ['host', `${EVIL}:443`],
    ['x-forwarded-host', EVIL],
    ['x-forwarded-host', `127.0.0.1, ${EVIL}`, 'x-forwarded-proto', 'http', 'x-forwarded-port', '8666'],
    ['forwarded', `for=192.0.2.1;host=${EVIL};proto=http`],
    ['x-host', EVIL, 'x-original-host', EVIL, 'x-forwarded-server', EVIL, 'x-http-host-override', EVIL],
    ['x-original-url', `https://${EVIL}/`, 'x-rewrite-url', `https://${EVIL}/`, 'x-forwarded-prefix', `//${EVIL}`],
    ['origin', `https://${EVIL}`, 'referer', `https://${EVIL}/`, 'via', `1.1 ${EVIL}`],
  ]

  it.each(['POST /v1/auth/password/forgot', 'POST /v1/members/invite'])(
    'builds the link requested by %s only from the configured base URL, ignoring host headers',
    async (route) => {
      const configured = await startService({ env: { WEB_BASE_URL: `${WEB}/`, FORGOT_EMAIL_LIMIT: '1000' } })
      onTestFinished(() => configured.close())
      const { admin } = configured.database
      const [method = '', path = ''] = route.split(' ')
      const owner = await createMember(admin, { email: 'owner@links.test', slug: 'acme-print' })
      for (const [at, forged] of FORGERIES.entries()) {
        const email = `person${at}@links.test`
        if (path.endsWith('/forgot')) await createUser(admin, { email })
        const { status } = await rawRequest(configured.gateway.url, {
          method,
          path,
          headers: [...forged, 'content-type', 'application/json', 'authorization', `Bearer ${owner.token}`],
          body: JSON.stringify({ email, role: 'viewer' }),
        })
        expect(status, forged.join(' ')).toBeLessThan(300)
        expect(await configured.mail.deliver()).toBe(1)
        const [message] = configured.mail.to(email)
        const link = `${WEB}/${path.endsWith('/forgot') ? 'reset-password' : 'invitation'}?token=${tokenIn(message)}`
        const links = [...`${message?.text}${message?.html}`.matchAll(/[a-z]+:\/\/[^"<\s]+/g)].map(([found]) => found)
        expect(new Set(links), forged.join(' ')).toEqual(new Set([link]))
        expect(message?.html).toContain(`<a href="${link}">`)
        expect(JSON.stringify(message)).not.toContain(EVIL)
        expect(JSON.stringify(message)).not.toContain('127.0.0.1')
      }
    },
  )
})

/** Returns the columns of all tables that contain one of the values; bytea is read as hex. */
async function findIn(needles: readonly (readonly [how: string, needle: string])[]): Promise<string[]> {
  const tables = await service.sql<{ name: string; columns: string }[]>`
    select format('%I.%I', c.relnamespace::regnamespace, c.relname) as name,
           string_agg(format('(%1$L, t.%1$I::text)', a.attname), ', ') as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'm') and c.relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
     group by c.oid`
  const found: string[] = []
  for (const { name, columns } of tables) {
    const rows = await service.sql.unsafe(
      `select distinct c.name, n.how
         from ${name} t, lateral (values ${columns}) as c(name, text), unnest($1::text[], $2::text[]) as n(how, needle)
        where strpos(lower(c.text collate "C"), lower(n.needle collate "C")) > 0`,
      [needles.map(([how]) => how), needles.map(([, needle]) => needle)],
    )
    found.push(...rows.map((row) => `${name}.${row['name']} ${row['how']}`))
  }
  return found
}

describe('raw tokens', () => {
  it('stores the raw token of an email in no column of any table, in any encoding', async () => {
    const found = await sendAllKinds('emails-tokens')
    const tokens = ['invitation', 'verification', 'reset'].map((kind) => tokenIn(found[kind]))
    tokens.push(await service.signIn('owner@acme.test', 'acme-print'))
    expect(await findIn(tokens.flatMap((token) => Object.entries(tokenEncodings(token))))).toEqual([])
  })

  it('finds a raw token that is planted in a table', async () => {
    const token = newToken()
    const bytes = Buffer.from(token, 'base64url')
    await service.sql`create table app.planted_leaks (kept text, raw bytea, doc jsonb)`
    try {
      await service.sql`insert into app.planted_leaks values (null, ${bytes}, null)`
      await service.sql`insert into app.planted_leaks values (${bytes.toString('base64')}, ${Buffer.from(token)}, null)`
      await service.sql`insert into app.planted_leaks values (null, null, ${service.sql.json({ deep: [{ token }] })})`
      expect(await findIn(Object.entries(tokenEncodings(token)))).toEqual(
        expect.arrayContaining([
          'app.planted_leaks.raw in hex of the bytes',
          'app.planted_leaks.raw in hex of the text',
          'app.planted_leaks.kept in base64 of the bytes',
          'app.planted_leaks.doc as it is',
        ]),
      )
    } finally {
      await service.sql`drop table app.planted_leaks`
    }
  })
})
