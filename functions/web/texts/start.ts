const en = {
  greeting: (name: string) => `Signed in as ${name}.`,
  role: 'Your role',
  status: 'Status of the shop',
  timezone: 'Time zone',
  mayDo: 'What you can do',
  nothing: 'Your role has no pages here yet.',
  elsewhere: (platform: string) => `Your role works in the other applications of ${platform}:`,
  navigation: { label: 'Overview', purpose: 'Your shop and your role.' },
}

const es: typeof en = {
  greeting: (name) => `Ha iniciado sesión como ${name}.`,
  role: 'Su rol',
  status: 'Estado de la tienda',
  timezone: 'Zona horaria',
  mayDo: 'Lo que puede hacer',
  nothing: 'Su rol todavía no tiene páginas aquí.',
  elsewhere: (platform) => `Su rol trabaja en las otras aplicaciones de ${platform}:`,
  navigation: { label: 'Resumen', purpose: 'Su tienda y su rol.' },
}

export const start = { en, es }
