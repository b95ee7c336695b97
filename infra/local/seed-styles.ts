import { readFileSync } from 'node:fs'

/** A style of the platform, with the codes of its vendors. */
export interface SeedStyle {
  readonly style_number: string
  readonly name: string
  readonly brand: string
  readonly category: string
  readonly vendors: readonly string[]
}

const FITS = [
  { suffix: '', label: '' },
  { suffix: 'L', label: 'Women’s ' },
  { suffix: 'B', label: 'Youth ' },
]
const ONE_FIT = new Set(['Headwear', 'Bags', 'Workwear'])

/** Returns the styles of seed-styles.csv, each in all its fits. */
export const seedStyles = (): SeedStyle[] =>
  readFileSync(new URL('./seed-styles.csv', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [brand = '', number = '', name = '', category = '', vendors = ''] = line.split(',')
      return FITS.filter(({ suffix }) => suffix === '' || !ONE_FIT.has(category)).map(({ suffix, label }) => ({
        style_number: number + suffix,
        name: label + name,
        brand,
        category,
        vendors: vendors.split(' '),
      }))
    })
