import { afterAll, afterEach, expect } from 'vitest'
import { takeUndocumented } from '#tests/support/documented.ts'

const allDocumented = (): void =>
  expect(takeUndocumented(), 'answers that the API document does not describe').toEqual([])

afterEach(allDocumented)
afterAll(allDocumented)
