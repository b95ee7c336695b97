/** The part of autocannon that the benchmark uses. It ships no types. */
declare module 'autocannon' {
  /** One request of a connection. */
  export interface CannonRequest {
    readonly method: string
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string
  }

  interface Client {
    setRequests(requests: readonly CannonRequest[]): void
  }

  interface Options {
    readonly url: string
    readonly connections: number
    readonly duration?: number
    readonly amount?: number
    /** A run can end every so many milliseconds. */
    readonly sampleInt: number
    readonly setupClient: (client: Client) => void
  }

  interface Result {
    readonly non2xx: number
    readonly errors: number
  }

  interface Run extends PromiseLike<Result> {
    on(event: 'response', listener: (client: Client, status: number, bytes: number, ms: number) => void): this
  }

  export default function autocannon(options: Options): Run
}
