import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import document from './document.json' with { type: 'json' }

const text = JSON.stringify(document)

// The file contains the default of PROBLEM_BASE_URL.
const withProblemsAt = (baseUrl: string): string =>
  text.replaceAll(
    JSON.stringify(document.info['x-problem-base-url']).slice(1, -1),
    JSON.stringify(baseUrl).slice(1, -1),
  )

export const readDocument = endpoint({
  route: 'GET /v1/openapi.json',
  access: 'anyone',
  summary: 'Read this document',
  reply: v.objectWithRest({ openapi: v.pipe(v.string(), v.examples(['3.1.1'])) }, v.unknown()),
  cache: 'public, max-age=300',
  handle: async ({ runtime: { config } }) => ok(JSON.parse(withProblemsAt(config.problemBaseUrl))),
})
