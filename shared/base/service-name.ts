import * as v from 'valibot'
import { LIVE_ALIAS } from '#shared/base/live-alias.ts'

/** The name of another service of the platform. It is the name of an alias too. */
export const ServiceName = v.pipe(v.string(), v.regex(/^[a-z][a-z0-9-]{0,39}$/), v.notValue(LIVE_ALIAS))
