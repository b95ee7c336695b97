const en = {
  greeting: (name: string) => `Signed in as ${name}.`,
  role: 'Your role',
  status: 'Status of the shop',
  timezone: 'Time zone',
  mayDo: 'What your role permits',
  nothing: 'Your role permits nothing here. Ask an owner or an admin of the shop.',
  elsewhere: (platform: string) => `Your work is in the other applications of ${platform}`,
  navigation: { label: 'Overview', purpose: 'Your shop and your role.' },
}

const es: typeof en = {
  greeting: (name) => `Ha iniciado sesión como ${name}.`,
  role: 'Su rol',
  status: 'Estado de la tienda',
  timezone: 'Zona horaria',
  mayDo: 'Lo que permite su rol',
  nothing: 'Su rol no permite nada aquí. Pregunte a un propietario o administrador de la tienda.',
  elsewhere: (platform) => `Su trabajo está en las otras aplicaciones de ${platform}`,
  navigation: { label: 'Resumen', purpose: 'Su tienda y su rol.' },
}

export const start = { en, es }
