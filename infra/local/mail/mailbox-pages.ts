import { createHash } from 'node:crypto'
import type { Message } from './kept-email.ts'

const STYLE = `
  body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
  td, th { text-align: left; padding: .4rem .6rem; overflow-wrap: anywhere; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 1rem; background: #f4f4f4; }
  iframe { width: 100%; height: 30rem; border: 1px solid #ccc; }
`

const styleHash = createHash('sha256').update(STYLE).digest('base64')

/** The policy of the mailbox's own pages: one style, and a frame for the HTML of an email. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${styleHash}'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

// An email may style itself and open its links in a new tab. It may not run scripts or load anything.
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'

/** The policy of an email's HTML, which is not trusted. */
export const MAIL_POLICY = `sandbox ${SANDBOX}; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'`

const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

const withLinks = (text: string): string =>
  escape(text).replaceAll(/https?:\/\/(?:[^\s&]|&#38;)+/g, (url) => `<a href="${url}" rel="noreferrer">${url}</a>`)

const layout = (title: string, main: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>${STYLE}</style>
<h1>${escape(title)}</h1>
${main}
</html>
`

/** Returns the page that lists emails, in the order given. */
export function listPage(emails: readonly Message[]): string {
  const rows = emails.map(({ id, to, subject, received_at }) => {
    const link = `<a href="/messages/${escape(id)}">${escape(subject || '(no subject)')}</a>`
    return `<tr><td>${link}</td><td>${escape(to)}</td><td>${escape(received_at)}</td></tr>`
  })
  const head = '<tr><th>Subject</th><th>To</th><th>Received</th></tr>'
  return layout('Mailbox', rows.length === 0 ? '<p>No emails yet.</p>' : `<table>${head}\n${rows.join('\n')}</table>`)
}

/** Returns the page of one email. A sandboxed frame shows its HTML from its own address, under its own policy. */
export function messagePage({ id, to, copies, from, subject, text, html, received_at }: Message): string {
  const head = `To: ${to}\n${copies && `Copies: ${copies}\n`}From: ${from}\nReceived: ${received_at}`
  const frame = `<iframe title="The email as HTML" sandbox="${SANDBOX}" src="/messages/${escape(id)}/html"></iframe>`
  const parts = [head, ...(text === null ? [] : [text])].map((part) => `<pre>${withLinks(part)}</pre>`)
  return layout(subject || '(no subject)', `${parts.join('\n')}\n${html === null ? '' : frame}\n${BACK}`)
}

const BACK = '<p><a href="/">Mailbox</a></p>'

export const missingPage = (): string => layout('No such email', BACK)

/** Returns an email's HTML as a document of its own, whose links open in a new tab. */
export const mailDocument = (html: string): string => `<!doctype html>\n<base target="_blank">\n${html}`
