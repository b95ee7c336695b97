/** The client of a request: the address that API Gateway saw, never one from a header, and its user agent. */
export interface ClientInfo {
  readonly ip: string
  readonly userAgent: string | null
}
