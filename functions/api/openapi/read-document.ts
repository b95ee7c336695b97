import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { once } from '#shared/base/once.ts'

// Loaded at the first request: a start would compile it.
const documentOf = once(async (): Promise<{ text: string; problemBaseUrl: string }> => {
  const { default: document } = await import('./document.json', { with: { type: 'json' } })
  return { text: JSON.stringify(document), problemBaseUrl: document.info['x-problem-base-url'] }
})

/** Returns the document with another PROBLEM_BASE_URL. The file contains its default. */
async function withProblemsAt(baseUrl: string): Promise<string> {
  const { text, problemBaseUrl } = await documentOf()
  return text.replaceAll(JSON.stringify(problemBaseUrl).slice(1, -1), JSON.stringify(baseUrl).slice(1, -1))
}

export const readDocument = endpoint({
  route: 'GET /v1/openapi.json',
  access: 'anyone',
  summary: 'Read this document',
  reply: v.objectWithRest({ openapi: v.pipe(v.string(), v.examples(['3.1.1'])) }, v.unknown()),
  cache: 'public, max-age=300',
  handle: async ({ runtime: { config } }) => ok(JSON.parse(await withProblemsAt(config.problemBaseUrl))),
})
