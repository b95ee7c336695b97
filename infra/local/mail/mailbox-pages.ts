import { createHash } from 'node:crypto'
import type { Message } from './mailbox.ts'

const STYLE = `
  body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color: #1c1c1c; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid #ccc; overflow-wrap: anywhere; }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
  dd { margin: 0; overflow-wrap: anywhere; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 1rem; background: #f4f4f4; }
  iframe { width: 100%; height: 30rem; border: 1px solid #ccc; }
`

/** The policy of the mailbox's own pages: their one style, and a frame for the HTML of a mail. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

// A mail may look as it likes and open its links in a new tab; it runs no script and fetches nothing.
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'

/** The policy of a mail's own HTML, which is not ours to trust. */
export const MAIL_POLICY = [
  `sandbox ${SANDBOX}`,
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ')

const ENTITIES = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
])

const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ENTITIES.get(sign) ?? sign)

const linked = (text: string): string =>
  text
    .split(/(https?:\/\/[^\s<>"']+)/)
    .map((piece, index) =>
      index % 2 === 0 ? escape(piece) : `<a href="${escape(piece)}" rel="noreferrer">${escape(piece)}</a>`,
    )
    .join('')

const layout = (title: string, main: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>${STYLE}</style>
<main>
<h1>${escape(title)}</h1>
${main}
</main>
</html>
`

const pathOf = ({ id }: Message): string => escape(`/messages/${encodeURIComponent(id)}`)

/** The page that lists messages, in the order given. */
export function listPage(messages: readonly Message[]): string {
  const rows = messages.map(
    (message) => `<tr>
<td><a href="${pathOf(message)}">${escape(message.subject || '(no subject)')}</a></td>
<td>${escape(message.to)}</td>
<td>${escape(message.from)}</td>
<td><time datetime="${escape(message.received_at)}">${escape(message.received_at)}</time></td>
</tr>`,
  )
  const table = `<table>
<thead><tr><th scope="col">Subject</th><th scope="col">To</th><th scope="col">From</th><th scope="col">Received</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>`
  return layout('Mailbox', rows.length === 0 ? '<p>No mail was sent yet.</p>' : table)
}

/** The page of one message. Its HTML is shown in a sandboxed frame, from an address and under a policy of its own. */
export function messagePage(message: Message): string {
  const fields = [
    ['To', message.to],
    ['Copies', message.copies],
    ['From', message.from],
    ['Received', message.received_at],
  ]
  const list = fields
    .filter(([, value]) => value !== '')
    .map(([name = '', value = '']) => `<dt>${name}</dt><dd>${escape(value)}</dd>`)
    .join('\n')
  const text = message.text === null ? '' : `<h2>Text</h2>\n<pre>${linked(message.text)}</pre>`
  const html =
    message.html === null
      ? ''
      : `<h2>HTML</h2>\n<iframe title="The mail as HTML" sandbox="${SANDBOX}" src="${pathOf(message)}/html"></iframe>`
  return layout(
    message.subject || '(no subject)',
    `<p><a href="/">Mailbox</a></p>\n<dl>\n${list}\n</dl>\n${text}\n${html}`,
  )
}

export const missingPage = (): string => layout('No such message', '<p><a href="/">Mailbox</a></p>')

/** A mail's HTML as a document of its own: its links open in a new tab. */
export const mailDocument = (html: string): string => `<!doctype html>\n<base target="_blank">\n${html}`
