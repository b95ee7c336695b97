/** The client of a request: its address (shared/http/client-address.ts), and what it says of itself. */
export interface ClientInfo {
  readonly ip: string
  readonly userAgent: string | null
  /** The `x-request-id` that it sent, if well-formed. Nothing prevents a client from sending one twice. */
  readonly requestId: string | null
}

/** The request that a change comes from. A job has no more than an id. */
export interface RequestSource {
  readonly requestId: string
  readonly clientRequestId?: string | null
  readonly ipHash?: Uint8Array | null
}
