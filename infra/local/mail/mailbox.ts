import { randomUUID } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as v from 'valibot'
import { type HttpServer, json, startHttpServer } from '#infra/local/http-server.ts'
import { readIfThere } from '#infra/local/private-file.ts'
import { KeptEmail, type Message } from './kept-email.ts'
import { listPage, MAIL_POLICY, mailDocument, messagePage, missingPage, PAGE_POLICY } from './mailbox-pages.ts'

export type EmailMessage = Omit<Message, 'id' | 'received_at'>

export interface Mailbox extends HttpServer {
  /** Stores an email. Returns its id when it is in the file. */
  keep(email: EmailMessage): Promise<string>
  /** Returns the emails to an address, ignoring case, newest first. Without an address, all of them. */
  messages(to?: string): Message[]
}

/** Serves the sent emails, kept in `stateDir`: `GET /messages?to=ADDRESS` as JSON, `GET /` and `GET /messages/ID` as pages. */
export async function startMailbox(options: { readonly stateDir: string; readonly port?: number }): Promise<Mailbox> {
  const path = join(options.stateDir, 'mailbox.jsonl')
  const kept = parseLines((await readIfThere(path)) ?? '')
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a', 0o600)
  // Ends a line that a crash cut short, so that the next line is whole.
  await file.appendFile('\n')
  let written = Promise.resolve()

  const keep = async (email: EmailMessage): Promise<string> => {
    const message = { id: randomUUID(), ...email, received_at: new Date().toISOString() }
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
      if (method !== 'GET') return json(405, { error: 'Only GET is allowed here' }, { allow: 'GET' })
      if (pathname === '/') return page(200, listPage(messages()))
      // A plus sign in a query decodes to a space. No address has a space, so it was a plus sign.
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

// The documented fields. JSON leaves out what is undefined.
const published = (message: Message) => ({
  ...message,
  headers: Object.fromEntries(message.headers.map((line) => line.split(': ', 2))),
  copies: undefined,
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
      const parsed = v.safeParse(KeptEmail, JSON.parse(line))
      return parsed.success ? [parsed.output] : []
    } catch {
      return []
    }
  })
}
