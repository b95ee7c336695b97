/** The response of an endpoint. `body` is sent as JSON; null sends none. */
export interface Reply<Body = object | null> {
  readonly status: number
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>>
}

/** 200. The body's type is taken from the endpoint's `reply` and never from the body, so that no field too many passes. */
export const ok = <Body>(body: NoInfer<Body>, extras: Pick<Reply, 'headers'> = {}): Reply<Body> => ({
  status: 200,
  body,
  ...extras,
})

export const noContent = (): Reply<null> => ({ status: 204, body: null })
