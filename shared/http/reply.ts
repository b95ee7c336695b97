/** The response of an endpoint. `body` is sent as JSON; null sends none. */
export interface Reply<Body = object | null> {
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

export const noContent = (): Reply<null> => ({ status: 204, body: null })
