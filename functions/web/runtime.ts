import type { Config } from '#shared/config.ts'

/** A request to the API on behalf of a browser. */
export interface SentRequest {
  readonly method: string
  /** The path, with its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The address of the browser, by which the API counts its limits. */
  readonly sourceIp: string
}

/** Sends a request to the API. Throws when there is no response. */
export type Send = (request: SentRequest) => Promise<Response>

/** What the front end owns: no database and no pepper. */
export interface WebRuntime {
  /** The secret of the CSRF fields that need no session. */
  readonly webKey: string
  readonly send: Send
}

/** The settings, which are parsed at the start, and the runtime, which is opened at the first request. */
export interface WebSource {
  readonly config: Config
  readonly open: () => Promise<WebRuntime>
}
