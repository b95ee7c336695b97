const en = { invalid: 'This link is invalid or has expired' }

const es: typeof en = { invalid: 'Este enlace no es válido o ha caducado' }

export const link = { en, es }
