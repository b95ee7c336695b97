import { notFound } from '#shared/base/problem.ts'
import { page } from '#web/http/page.ts'
import { redirect, text } from '#web/http/reply.ts'
import { ICON } from '#web/view/style.ts'

const PLAIN = 'text/plain; charset=utf-8'
const DAY_MS = 86_400_000
// RFC 9116 recommends less than a year. A front end that nobody runs any more stops promising.
const EXPIRES_DAYS = 90

/** Search engines list no page. */
export const robots = page({
  route: 'GET /robots.txt',
  access: 'anyone',
  handle: async () => text(PLAIN, 'User-agent: *\nDisallow: /\n'),
})

/** For what asks for an icon without reading the page. */
export const favicon = page({
  route: 'GET /favicon.ico',
  access: 'anyone',
  handle: async () => text('image/svg+xml', ICON),
})

/** Where a password manager leads people to change their password: https://www.w3.org/TR/change-password-url/ */
export const changePasswordAddress = page({
  route: 'GET /.well-known/change-password',
  access: 'anyone',
  handle: async () => redirect('/account'),
})

/** Where to report a vulnerability (RFC 9116). 404 if the stage has no contact. */
export const securityContact = page({
  route: 'GET /.well-known/security.txt',
  access: 'anyone',
  async handle({ securityContact: contact }) {
    if (contact === '') throw notFound('the stage has no security contact')
    const expires = new Date(Date.now() + EXPIRES_DAYS * DAY_MS).toISOString()
    return text(PLAIN, `Contact: ${contact}\nExpires: ${expires}\nPreferred-Languages: en, es\n`)
  },
})
