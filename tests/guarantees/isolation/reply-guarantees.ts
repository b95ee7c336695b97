import { deletesAfter } from './deletes-after.ts'
import type { FunctionGuarantees } from './guarantee.ts'

export const FUNCTIONS: FunctionGuarantees = { delete_old_replies: deletesAfter('replies', 'created_at', '24 hours') }
