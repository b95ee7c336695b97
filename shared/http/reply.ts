/** What an endpoint answers. `body` is sent as JSON; null sends none. */
export interface Reply {
  readonly status: number
  readonly body: object | null
  readonly headers: Readonly<Record<string, string>>
}

export const ok = (body: object, headers: Reply['headers'] = {}): Reply => ({ status: 200, body, headers })

export const noContent = (): Reply => ({ status: 204, body: null, headers: {} })
