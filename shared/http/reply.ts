/** The media types of a reply that is a file. */
export type FileType = 'text/csv' | 'application/x-ndjson'

/** The response of an endpoint. `body` is sent as JSON; null sends none, and a text is a file. */
export interface Reply<Body = object | string | null> {
  readonly status: number
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns a 200. The type comes from the endpoint's `reply`, not from the body, so an extra field does not compile. */
export const ok = <Body>(body: NoInfer<Body>, extras: Pick<Reply, 'headers'> = {}): Reply<Body> => ({
  status: 200,
  body,
  ...extras,
})

/** Returns a 200 that is a file in UTF-8. The endpoint names its media type in `files`. */
export const file = (type: FileType, text: string, headers: Readonly<Record<string, string>>): Reply<string> => ({
  status: 200,
  body: text,
  headers: { 'content-type': type, ...headers },
})

export const noContent = (): Reply<null> => ({ status: 204, body: null })
