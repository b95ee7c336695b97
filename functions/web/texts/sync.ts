import type { SYNC_ERRORS } from '#shared/suppliers/sync-run.ts'

const en = {
  title: (vendor: string) => `Sync of ${vendor}`,
  runs: 'Latest syncs',
  noneTitle: 'No syncs yet',
  none: 'Start the sync of a vendor account. It reads the products and prices of the vendor into the catalog.',
  run: 'Vendor',
  state: 'Status',
  states: { queued: 'Waiting', running: 'Running', succeeded: 'Finished', failed: 'Failed' },
  looked: 'As of',
  loadAgain: 'Load again',
  products: 'Products',
  variants: 'Variants',
  prices: 'Prices',
  unresolved: 'Unknown sizes',
  withdrawn: 'Withdrawn',
  withheldTitle: 'Most products are gone',
  withheld: (count: string) =>
    `The vendor no longer lists ${count} SKUs, most of those that you have. We kept them, because the list may be incomplete. If it is right, sync again and withdraw them.`,
  withdrawMost: 'Sync again and withdraw them',
  begun: 'Started',
  finished: 'Finished',
  back: 'All vendor accounts',
  errors: {
    'vendor-rejected': 'The vendor refused the credentials. Replace the secret of the account.',
    'vendor-unreachable': 'The vendor could not be reached. Try again later.',
    'vendor-answer': 'The vendor sent something that we cannot read. Try again later.',
    'kms-unavailable': 'The stored secret could not be decrypted at the moment. Try again later.',
    abandoned: 'The sync stopped unexpectedly. Start it again.',
  } satisfies Record<(typeof SYNC_ERRORS)[number], string>,
  notices: {
    'sync-active': 'A sync of this vendor is running already. This is how far it is.',
  },
}

const es: typeof en = {
  title: (vendor) => `Sincronización de ${vendor}`,
  runs: 'Últimas sincronizaciones',
  noneTitle: 'Todavía no hay sincronizaciones',
  none: 'Inicie la sincronización de una cuenta. Lee los productos y precios del proveedor en el catálogo.',
  run: 'Proveedor',
  state: 'Estado',
  states: { queued: 'En espera', running: 'En curso', succeeded: 'Terminada', failed: 'Fallida' },
  looked: 'Última consulta:',
  loadAgain: 'Cargar de nuevo',
  products: 'Productos',
  variants: 'Variantes',
  prices: 'Precios',
  unresolved: 'Tallas desconocidas',
  withdrawn: 'Retirados',
  withheldTitle: 'Falta la mayoría de los productos',
  withheld: (count) =>
    `El proveedor ya no ofrece ${count} SKU, la mayoría de los que usted tiene. Los conservamos, porque la lista puede estar incompleta. Si es correcta, sincronice de nuevo y retírelos.`,
  withdrawMost: 'Sincronizar de nuevo y retirarlos',
  begun: 'Inicio',
  finished: 'Fin',
  back: 'Todas las cuentas de proveedores',
  errors: {
    'vendor-rejected': 'El proveedor rechazó las credenciales. Sustituya el secreto de la cuenta.',
    'vendor-unreachable': 'No se pudo contactar con el proveedor. Inténtelo más tarde.',
    'vendor-answer': 'El proveedor envió algo que no podemos leer. Inténtelo más tarde.',
    'kms-unavailable': 'El secreto guardado no se pudo descifrar en este momento. Inténtelo más tarde.',
    abandoned: 'La sincronización se detuvo inesperadamente. Iníciela de nuevo.',
  },
  notices: {
    'sync-active': 'Ya hay una sincronización de este proveedor en curso. Así va.',
  },
}

export const sync = { en, es }
