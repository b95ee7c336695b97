import { webLambda } from '#web/lambda.ts'
import { PAGES } from '#web/pages.ts'
import { openWeb } from '#web/runtime.ts'

export const handler = webLambda(PAGES, openWeb())
