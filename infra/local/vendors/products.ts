import { type SeedStyle, seedStyles } from '#infra/local/seed-styles.ts'

/** A product of a local vendor. Its SKUs are in the vendor's order. */
export interface LocalProduct {
  readonly id: number
  readonly style: SeedStyle
  readonly skus: readonly LocalSku[]
}

export interface LocalSku {
  readonly sku: string
  readonly color: string | null
  readonly size: string
  /** An exact decimal, or null for a SKU without a price. */
  readonly price: string | null
}

const COLORS = ['Black', 'White', 'Sport Grey', 'Navy', 'Royal', 'Red', 'Forest Green', 'Heather Sapphire']
/** Each vendor spells sizes in its own way. */
const SIZES = {
  'ss-activewear': ['S', 'M', 'L', 'XL', '2XL', '3XL'],
  sanmar: ['Small', 'Medium', 'Large', 'X-Large', 'XX-Large', '3X'],
}
const COLORS_PER_PRODUCT = 2

export type LocalVendor = keyof typeof SIZES

/** The first ids, which real S&S styles have. */
const KNOWN_IDS = new Map([
  ['Gildan 2000', 39],
  ['Gildan 18500', 71],
])

/** Returns so many products: styles of the seed, at most half of them, and after them styles that the platform does not know. */
export function localProducts(vendor: LocalVendor, count: number): LocalProduct[] {
  const known = seedStyles()
    .filter(({ vendors }) => vendors.includes(vendor))
    .slice(0, Math.ceil(count / 2))
  const own = Array.from({ length: count - known.length }, (_, index) => ({
    style_number: `${vendor === 'sanmar' ? 'PC' : 'HL'}${1000 + index}`,
    name: `${COLORS[index % COLORS.length]} Label Tee ${index + 1}`,
    brand: vendor === 'sanmar' ? 'Port Harbor' : 'House Label',
    category: 'T-Shirts',
    vendors: [vendor],
  }))
  return [...known, ...own].map((style, index) => ({
    id: KNOWN_IDS.get(`${style.brand} ${style.style_number}`) ?? 1000 + index,
    style,
    skus: skusOf(vendor, index),
  }))
}

function skusOf(vendor: LocalVendor, index: number): LocalSku[] {
  const prefix = `${vendor === 'sanmar' ? '8' : 'B'}${String(index).padStart(5, '0')}`
  const regular = Array.from(
    { length: COLORS_PER_PRODUCT },
    (_, shift) => COLORS[(index + shift) % COLORS.length] ?? '',
  )
    .flatMap((color) => SIZES[vendor].map((size) => ({ color, size })))
    .map(({ color, size }, position) => ({
      sku: `${prefix}${String(position).padStart(2, '0')}`,
      color,
      size,
      price: `${2 + (index % 20)}.${String((position * 7) % 100).padStart(2, '0')}`,
    }))
  return [...regular, ...(ODD[index % 10]?.(prefix) ?? [])]
}

const odd = (prefix: string, number: number, differs: Partial<LocalSku>): LocalSku => ({
  sku: `${prefix}9${number}`,
  color: 'Sand',
  size: 'M',
  price: '4.5',
  ...differs,
})

/** What every tenth product has in addition. */
const ODD: Readonly<Record<number, (prefix: string) => LocalSku[]>> = {
  // Sizes that are no known size, and one with blanks around it.
  1: (prefix) => [odd(prefix, 0, { size: '28x30' }), odd(prefix, 1, { size: ' xxl ' })],
  2: (prefix) => [odd(prefix, 0, { size: 'ONE-OFF' })],
  // No color.
  3: (prefix) => [odd(prefix, 0, { color: null })],
  // One SKU twice: the last one wins.
  4: (prefix) => [
    odd(prefix, 0, { color: 'Old Gold', price: '1.00' }),
    odd(prefix, 0, { color: 'Gold', price: '2.00' }),
  ],
  // Five decimals, halfway between two prices of four.
  5: (prefix) => [odd(prefix, 0, { price: '3.12345' }), odd(prefix, 1, { size: 'L', price: '0.00005' })],
  // No price.
  6: (prefix) => [odd(prefix, 0, { price: null })],
  // Two SKUs of one color and size.
  7: (prefix) => [odd(prefix, 0, {}), odd(prefix, 1, { price: '5.25' })],
}
