import type { SYNC_ERRORS } from '#shared/suppliers/sync-run.ts'

const en = {
  runs: 'Latest syncs',
  errors: {
    'vendor-rejected': 'The vendor refused the credentials. Replace the key of the account.',
    'vendor-unreachable': 'The vendor could not be reached. Try again later.',
    'vendor-answer': 'The vendor sent something that we cannot read. Try again later.',
    'kms-unavailable': 'The stored key could not be decrypted at the moment. Try again later.',
    abandoned: 'The sync stopped unexpectedly. Start it again.',
  } satisfies Record<(typeof SYNC_ERRORS)[number], string>,
  notices: {
    'sync-active': 'A sync of this vendor is running already. This is how far it is.',
  },
}

const es: typeof en = {
  runs: 'Últimas sincronizaciones',
  errors: {
    'vendor-rejected': 'El proveedor rechazó las credenciales. Sustituya la clave de la cuenta.',
    'vendor-unreachable': 'No se pudo contactar con el proveedor. Inténtelo más tarde.',
    'vendor-answer': 'El proveedor envió algo que no podemos leer. Inténtelo más tarde.',
    'kms-unavailable': 'La clave guardada no se pudo descifrar en este momento. Inténtelo más tarde.',
    abandoned: 'La sincronización se detuvo inesperadamente. Iníciela de nuevo.',
  },
  notices: {
    'sync-active': 'Ya hay una sincronización de este proveedor en curso. Así va.',
  },
}

/** What the front end says of syncs outside of their pages. */
export const sync = { en, es }
