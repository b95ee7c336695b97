const en = {
  navigation: { label: 'Vendor accounts', purpose: 'Connect vendors, and sync their catalogs.' },
  notices: {
    'vendor-connected': 'The vendor accepted the credentials. The account is connected.',
    'vendor-unverified': 'The account is stored. The vendor could not be reached, so we verify it later.',
    'vendor-secret-replaced': 'The key was replaced.',
    'vendor-verified': 'The vendor accepted the credentials.',
    'vendor-refused': 'The vendor refused the credentials. Replace the key.',
    'vendor-revoked': 'The account was revoked, and its key erased.',
  },
}

const es: typeof en = {
  navigation: { label: 'Proveedores', purpose: 'Conecte proveedores y sincronice sus catálogos.' },
  notices: {
    'vendor-connected': 'El proveedor aceptó las credenciales. La cuenta está conectada.',
    'vendor-unverified': 'La cuenta está guardada. No se pudo contactar con el proveedor; la verificamos más tarde.',
    'vendor-secret-replaced': 'Se sustituyó la clave.',
    'vendor-verified': 'El proveedor aceptó las credenciales.',
    'vendor-refused': 'El proveedor rechazó las credenciales. Sustituya la clave.',
    'vendor-revoked': 'Se revocó la cuenta y se borró su clave.',
  },
}

/** What the navigation and notices say of vendor accounts. */
export const vendors = { en, es }
