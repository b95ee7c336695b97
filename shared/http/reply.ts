import type { InvokedJob } from '#shared/needs.ts'

/** What an endpoint answers. `body` is sent as JSON; null sends none. `wakes` is started after the commit. */
export interface Reply<Body = object | null> {
  readonly status: number
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>>
  readonly wakes?: InvokedJob
}

/** 200. The body's type is taken from the endpoint's `reply` and never from the body, so that no field too many passes. */
export const ok = <Body>(body: NoInfer<Body>, extras: Pick<Reply, 'headers' | 'wakes'> = {}): Reply<Body> => ({
  status: 200,
  body,
  ...extras,
})

export const noContent = (extras: Pick<Reply, 'wakes'> = {}): Reply<null> => ({ status: 204, body: null, ...extras })
