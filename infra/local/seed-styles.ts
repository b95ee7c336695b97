/** One style of the local catalog. */
export interface SeedStyle {
  readonly brand: string
  readonly styleNumber: string
  readonly name: string
  readonly category: string
  readonly vendors: readonly string[]
}

const BOTH = ['ss-activewear', 'sanmar']
const SS = ['ss-activewear']
const SANMAR = ['sanmar']

// brand | vendors | category | number, name of each style
const LINES: readonly (readonly [string, readonly string[], string, readonly (readonly [string, string])[]])[] = [
  [
    'Gildan',
    BOTH,
    'T-Shirts',
    [
      ['2000', 'Ultra Cotton T-Shirt'],
      ['5000', 'Heavy Cotton T-Shirt'],
      ['64000', 'Softstyle T-Shirt'],
      ['8000', 'DryBlend T-Shirt'],
      ['2400', 'Ultra Cotton Long Sleeve T-Shirt'],
      ['5400', 'Heavy Cotton Long Sleeve T-Shirt'],
      ['42000', 'Performance T-Shirt'],
      ['H000', 'Hammer T-Shirt'],
    ],
  ],
  [
    'Gildan',
    BOTH,
    'Fleece',
    [
      ['18000', 'Heavy Blend Crewneck Sweatshirt'],
      ['18500', 'Heavy Blend Hooded Sweatshirt'],
      ['18600', 'Heavy Blend Full-Zip Hooded Sweatshirt'],
      ['12500', 'DryBlend Hooded Sweatshirt'],
      ['SF500', 'Softstyle Midweight Hooded Sweatshirt'],
    ],
  ],
  [
    'Gildan',
    BOTH,
    'Polos',
    [
      ['8800', 'DryBlend Jersey Polo'],
      ['3800', 'Ultra Cotton Pique Polo'],
      ['64800', 'Softstyle Double Pique Polo'],
    ],
  ],
  [
    'Port & Company',
    SANMAR,
    'T-Shirts',
    [
      ['PC61', 'Essential Tee'],
      ['PC54', 'Core Cotton Tee'],
      ['PC55', 'Core Blend Tee'],
      ['PC450', 'Fan Favorite Tee'],
      ['PC380', 'Performance Tee'],
      ['PC330', 'Tri-Blend Tee'],
      ['PC099', 'Beach Wash Garment-Dyed Tee'],
    ],
  ],
  [
    'Port & Company',
    SANMAR,
    'Fleece',
    [
      ['PC78', 'Core Fleece Crewneck Sweatshirt'],
      ['PC78H', 'Core Fleece Pullover Hooded Sweatshirt'],
      ['PC90H', 'Essential Fleece Pullover Hooded Sweatshirt'],
      ['PC850', 'Fan Favorite Fleece Crewneck Sweatshirt'],
    ],
  ],
  [
    'Bella + Canvas',
    BOTH,
    'T-Shirts',
    [
      ['3001', 'Unisex Jersey Tee'],
      ['3001CVC', 'Unisex Heather CVC Tee'],
      ['3413', 'Unisex Triblend Tee'],
      ['3501', 'Unisex Jersey Long Sleeve Tee'],
      ['3005', 'Unisex Jersey V-Neck Tee'],
      ['3480', 'Unisex Jersey Tank'],
    ],
  ],
  [
    'Bella + Canvas',
    BOTH,
    'Fleece',
    [
      ['3719', 'Unisex Sponge Fleece Pullover Hoodie'],
      ['3739', 'Unisex Sponge Fleece Full-Zip Hoodie'],
      ['3901', 'Unisex Sponge Fleece Raglan Sweatshirt'],
    ],
  ],
  [
    'Next Level',
    SS,
    'T-Shirts',
    [
      ['3600', 'Cotton T-Shirt'],
      ['6010', 'Triblend T-Shirt'],
      ['6210', 'CVC T-Shirt'],
      ['3633', 'Cotton Tank'],
      ['6200', 'Poly-Cotton T-Shirt'],
    ],
  ],
  [
    'Hanes',
    BOTH,
    'T-Shirts',
    [
      ['5180', 'Beefy-T T-Shirt'],
      ['5250', 'Authentic T-Shirt'],
      ['498P', 'Perfect-T T-Shirt'],
      ['4820', 'Cool Dri T-Shirt'],
      ['W110', 'Workwear Pocket T-Shirt'],
    ],
  ],
  [
    'Hanes',
    BOTH,
    'Fleece',
    [
      ['P160', 'EcoSmart Crewneck Sweatshirt'],
      ['P170', 'EcoSmart Pullover Hooded Sweatshirt'],
      ['P180', 'EcoSmart Full-Zip Hooded Sweatshirt'],
    ],
  ],
  [
    'Comfort Colors',
    BOTH,
    'T-Shirts',
    [
      ['1717', 'Garment-Dyed Heavyweight T-Shirt'],
      ['6014', 'Garment-Dyed Heavyweight Long Sleeve T-Shirt'],
      ['6030', 'Garment-Dyed Pocket T-Shirt'],
      ['9360', 'Garment-Dyed Tank'],
    ],
  ],
  [
    'Comfort Colors',
    BOTH,
    'Fleece',
    [
      ['1566', 'Garment-Dyed Crewneck Sweatshirt'],
      ['1567', 'Garment-Dyed Hooded Sweatshirt'],
    ],
  ],
  [
    'District',
    SANMAR,
    'T-Shirts',
    [
      ['DT6000', 'Very Important Tee'],
      ['DM130', 'Perfect Tri Tee'],
      ['DT5000', 'The Concert Tee'],
      ['DT104', 'Perfect Weight Tee'],
      ['DT8000', 'Re-Tee'],
    ],
  ],
  [
    'Sport-Tek',
    SANMAR,
    'Performance',
    [
      ['ST350', 'PosiCharge Competitor Tee'],
      ['ST550', 'PosiCharge Tough Polo'],
      ['ST450', 'PosiCharge Strive Tee'],
      ['ST254', 'Pullover Hooded Sweatshirt'],
      ['ST650', 'Micropique Sport-Wick Polo'],
    ],
  ],
  [
    'Port Authority',
    SANMAR,
    'Polos',
    [
      ['K500', 'Silk Touch Polo'],
      ['K540', 'Silk Touch Performance Polo'],
      ['K110', 'Dry Zone UV Micro-Mesh Polo'],
    ],
  ],
  [
    'Port Authority',
    SANMAR,
    'Outerwear',
    [
      ['J317', 'Core Soft Shell Jacket'],
      ['F217', 'Value Fleece Jacket'],
      ['J754', 'Challenger Jacket'],
      ['J331', 'All-Conditions Jacket'],
    ],
  ],
  [
    'Independent Trading Co.',
    SS,
    'Fleece',
    [
      ['SS4500', 'Midweight Hooded Sweatshirt'],
      ['IND4000', 'Heavyweight Hooded Sweatshirt'],
      ['SS3000', 'Midweight Crewneck Sweatshirt'],
      ['AFX90UN', 'Lightweight Hooded Sweatshirt'],
    ],
  ],
  [
    'Champion',
    BOTH,
    'Fleece',
    [
      ['S700', 'Powerblend Hooded Sweatshirt'],
      ['S600', 'Powerblend Crewneck Sweatshirt'],
      ['S101', 'Reverse Weave Hooded Sweatshirt'],
    ],
  ],
  [
    'Jerzees',
    SS,
    'T-Shirts',
    [
      ['29MR', 'Dri-Power T-Shirt'],
      ['560MR', 'Premium Blend Ringspun T-Shirt'],
      ['21MR', 'Dri-Power Sport T-Shirt'],
    ],
  ],
  [
    'American Apparel',
    SS,
    'T-Shirts',
    [
      ['2001', 'Fine Jersey T-Shirt'],
      ['1301', 'Heavyweight Cotton T-Shirt'],
      ['TR401', 'Triblend Track T-Shirt'],
    ],
  ],
  [
    'Richardson',
    SS,
    'Headwear',
    [
      ['112', 'Trucker Cap'],
      ['115', 'Low Pro Trucker Cap'],
      ['220', 'Relaxed Performance Lite Cap'],
      ['312', 'Twill Back Trucker Cap'],
    ],
  ],
  [
    'YP Classics',
    SS,
    'Headwear',
    [
      ['6606', 'Retro Trucker Cap'],
      ['6245CM', 'Classic Dad Cap'],
      ['1501KC', 'Cuffed Beanie'],
      ['6089M', 'Premium Flat Bill Snapback Cap'],
    ],
  ],
  [
    'Carhartt',
    SANMAR,
    'Workwear',
    [
      ['CTK87', 'Workwear Pocket T-Shirt'],
      ['CTK121', 'Midweight Hooded Sweatshirt'],
      ['CT104670', 'Rain Defender Jacket'],
    ],
  ],
  [
    'Nike',
    SANMAR,
    'Polos',
    [
      ['NKDC1963', 'Dri-FIT Micro Pique 2.0 Polo'],
      ['637167', 'Dri-FIT Classic Polo'],
    ],
  ],
  [
    'Liberty Bags',
    SS,
    'Bags',
    [
      ['8501', 'Melody Large Tote'],
      ['8881', 'Large Drawstring Pack'],
      ['8866', 'Small Tote'],
    ],
  ],
]

const FITS = [
  { suffix: '', label: '' },
  { suffix: 'L', label: 'Women’s ' },
  { suffix: 'B', label: 'Youth ' },
]
const ONE_FIT = new Set(['Headwear', 'Bags', 'Workwear'])

/** Some three hundred styles as a decorator's vendors carry them: facts of the trade, none of it copied text. */
export const seedStyles: readonly SeedStyle[] = LINES.flatMap(([brand, vendors, category, styles]) =>
  styles.flatMap(([number, name]) =>
    FITS.filter(({ suffix }) => suffix === '' || !ONE_FIT.has(category)).map(({ suffix, label }) => ({
      brand,
      vendors,
      category,
      styleNumber: `${number}${suffix}`,
      name: `${label}${name}`,
    })),
  ),
)
