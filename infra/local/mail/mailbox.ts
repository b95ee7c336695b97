import { randomUUID } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as v from 'valibot'
import { type HttpServer, json, startHttpServer } from '#infra/local/http-server.ts'
import { listPage, MAIL_POLICY, mailDocument, messagePage, missingPage, PAGE_POLICY } from './mailbox-pages.ts'
import { readIfThere } from '#infra/local/private-file.ts'

const KeptMessage = v.object({
  id: v.string(),
  to: v.string(),
  from: v.string(),
  copies: v.string(),
  subject: v.string(),
  text: v.nullable(v.string()),
  html: v.nullable(v.string()),
  received_at: v.string(),
})

export type Message = Readonly<v.InferOutput<typeof KeptMessage>>
export type EmailMessage = Omit<Message, 'id' | 'received_at'>

export interface Mailbox extends HttpServer {
  /** Keeps a letter; it is in the file when this resolves to its id. */
  keep(letter: EmailMessage): Promise<string>
  /** Messages that went to an address in any case, newest first; all of them without an address. */
  messages(to?: string): Message[]
}

/** What was sent, kept in `stateDir`: `GET /messages?to=ADDRESS` as JSON, `GET /` and `GET /messages/ID` as pages. */
export async function startMailbox(options: { readonly stateDir: string; readonly port?: number }): Promise<Mailbox> {
  const path = join(options.stateDir, 'mailbox.jsonl')
  const kept = parseLines((await readIfThere(path)) ?? '')
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a', 0o600)
  // A line that a crash cut short must not take the next one with it.
  await file.appendFile('\n')
  let written = Promise.resolve()

  const keep = async (letter: EmailMessage): Promise<string> => {
    const message = { id: randomUUID(), ...letter, received_at: new Date().toISOString() }
    const write = () => file.appendFile(`${JSON.stringify(message)}\n`)
    written = written.then(write, write)
    await written
    kept.push(message)
    return message.id
  }

  const messages = (to?: string): Message[] =>
    kept.filter((message) => to === undefined || addressesOf(message).has(to.toLowerCase())).toReversed()

  const server = await startHttpServer({
    port: options.port,
    answer: ({ method, url }) => {
      const { pathname } = url
      if (method !== 'GET') return json(405, { error: 'Only GET is known here' }, { allow: 'GET' })
      if (pathname === '/') return page(200, listPage(messages()))
      // A plus sign in a query means a space, which no address has: it was a plus sign.
      const to = url.searchParams.get('to')?.trim().replaceAll(' ', '+')
      if (pathname === '/messages') return json(200, { data: messages(to).map(published) })
      const [, id, part] = /^\/messages\/([^/]+)(\/html)?$/.exec(pathname) ?? []
      const message = kept.find((candidate) => candidate.id === id)
      if (message === undefined) return page(404, missingPage())
      return part === undefined
        ? page(200, messagePage(message))
        : page(200, mailDocument(message.html ?? ''), MAIL_POLICY)
    },
  })

  return {
    ...server,
    keep,
    messages,
    close: async () => {
      await server.close()
      await written
      await file.close()
    },
  }
}

const published = ({ id, to, from, subject, text, html, received_at }: Message) => ({
  id,
  to,
  from,
  subject,
  text,
  html,
  received_at,
})

const page = (status: number, html: string, policy: string = PAGE_POLICY) => ({
  status,
  headers: {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  },
  body: html,
})

const addressesOf = ({ to, copies }: Message): Set<string> =>
  new Set(`${to},${copies}`.toLowerCase().match(/[^\s<>,;"]+@[^\s<>,;"]+/g) ?? [])

function parseLines(text: string): Message[] {
  return text.split('\n').flatMap((line) => {
    try {
      const parsed = v.safeParse(KeptMessage, JSON.parse(line))
      return parsed.success ? [parsed.output] : []
    } catch {
      return []
    }
  })
}
