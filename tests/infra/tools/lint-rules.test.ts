import { expect, it } from 'vitest'
import { faultsOfSql } from '#infra/tools/lint-rules.ts'

it.each([
  [String.raw`select regexp_count(body, '\s+')`],
  [String.raw`select '\x01'`],
  ['select l.unit_price::float8 from app.deal_lines l'],
  ['select sum(l.total)::real'],
  ["select json_agg(json_build_object('total', l.total))"],
  ['select to_json(l.unit_price)'],
])('rejects %s', (raw) => expect(faultsOfSql(raw)).toHaveLength(1))

it.each([
  [String.raw`select regexp_count(body, '\\s+')`],
  ["select json_build_object('total', l.total::text)"],
  ['select l.unit_price, extract(epoch from now())::float8'],
])('accepts %s', (raw) => expect(faultsOfSql(raw)).toEqual([]))
