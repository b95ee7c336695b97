/** The page that stands in the place of a page of another shop. */
const en = {
  title: 'Another shop',
  acting: (shop: string) => `You are now acting in ${shop}.`,
  wanted: (shop: string) => `This page belongs to ${shop}. Nothing was changed.`,
  switch: (shop: string) => `Switch to ${shop}`,
}

const es: typeof en = {
  title: 'Otra tienda',
  acting: (shop) => `Ahora actúa en ${shop}.`,
  wanted: (shop) => `Esta página pertenece a ${shop}. No se cambió nada.`,
  switch: (shop) => `Cambiar a ${shop}`,
}

export const otherShop = { en, es }
