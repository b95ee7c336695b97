import type { APIGatewayProxyEvent } from 'aws-lambda'

/**
 * The headers of a request by their names in lower case. The pipeline builds it once. A client may send a header several
 * times, and spell its name in several ways: API Gateway keeps each spelling apart, and no order among them.
 */
export class RequestHeaders {
  readonly #byName = new Map<string, string[][]>()

  constructor(sent: APIGatewayProxyEvent['multiValueHeaders'] | null | undefined) {
    for (const spelling in sent) {
      const name = spelling.toLowerCase()
      const values = this.#byName.get(name)
      if (values === undefined) this.#byName.set(name, [sent[spelling] ?? []])
      else values.push(sent[spelling] ?? [])
    }
  }

  /** Returns the value that was sent last, in the first spelling. */
  get(name: string): string | undefined {
    return this.#byName.get(name)?.[0]?.at(-1)
  }

  /** Returns every value, of each spelling. */
  all(name: string): readonly string[] {
    return this.#byName.get(name)?.flat() ?? []
  }

  /** Returns the values in the order sent, or none when the name was spelled in several ways: those have no order. */
  inOrder(name: string): readonly string[] {
    const [values = [], second] = this.#byName.get(name) ?? []
    return second === undefined ? values : []
  }
}
