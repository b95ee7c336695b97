/** A job's Lambda that may be woken. */
export type JobName = 'deliver-mail'

/** What an endpoint answers. `body` is sent as JSON; null sends none. `wakes` is started after the commit. */
export interface Reply {
  readonly status: number
  readonly body: object | null
  readonly headers?: Readonly<Record<string, string>>
  readonly wakes?: JobName
}

export const ok = (body: object, extras: Pick<Reply, 'headers' | 'wakes'> = {}): Reply => ({
  status: 200,
  body,
  ...extras,
})

export const noContent = (extras: Pick<Reply, 'wakes'> = {}): Reply => ({ status: 204, body: null, ...extras })
