import { webLambda } from '#web/http/lambda.ts'
import { PAGES } from '#web/http/pages.ts'
import { openWeb } from '#web/http/runtime.ts'

export const handler = webLambda(PAGES, openWeb())
