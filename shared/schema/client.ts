/** The client of a request: the address that API Gateway saw, never one from a header, and the user agent that it sent. */
export interface ClientInfo {
  readonly ip: string
  readonly userAgent: string | null
}
