import type { About } from '#web/texts/notice-text.ts'

const en = {
  title: 'Choose a shop',
  titleOfOne: 'Your shop',
  intro: 'You work in several shops. Choose the one to work in now.',
  introOfOne: 'You work in one shop. Others appear here when they invite you.',
  search: 'Name of the shop',
  lastUsed: 'Last used',
  all: 'All shops',
  notFoundTitle: 'No shop found',
  showAll: 'Show all shops',
  closed: 'Suspended shops',
  suspendedTitle: (shop: string) => `${shop} is suspended`,
  suspended: 'Nobody can work in it now. Nothing in it was deleted.',
  askPlatform: (platform: string) => `Ask the support of ${platform} what to do.`,
  askOwner: 'Ask an owner of the shop.',
  wanted: (shop: string) => `The page that you opened belongs to ${shop}.`,
  others: 'Your other shops',
  current: 'You work here now',
  noneTitle: 'You are in no shop yet',
  none: 'Ask an owner or an admin of your shop to invite you. Tell them the email address that you signed in with:',
  statuses: { trial: 'Trial', active: 'Active', past_due: 'Payment due', suspended: 'Suspended', cancelled: 'Closed' },
  notices: {
    'shop-switched': ({ shop }: About) => `You work in ${shop} now.`,
  },
}

const es: typeof en = {
  title: 'Elija una tienda',
  titleOfOne: 'Su tienda',
  intro: 'Usted trabaja en varias tiendas. Elija en cuál quiere trabajar ahora.',
  introOfOne: 'Usted trabaja en una tienda. Otras aparecerán aquí cuando le inviten.',
  search: 'Nombre de la tienda',
  lastUsed: 'Usadas últimamente',
  all: 'Todas las tiendas',
  notFoundTitle: 'No se encontró ninguna tienda',
  showAll: 'Ver todas las tiendas',
  closed: 'Tiendas suspendidas',
  suspendedTitle: (shop) => `${shop} está suspendida`,
  suspended: 'Ahora nadie puede trabajar en ella. No se ha eliminado nada de ella.',
  askPlatform: (platform) => `Pregunte al soporte de ${platform} qué debe hacer.`,
  askOwner: 'Pregunte a un propietario de la tienda.',
  wanted: (shop) => `La página que abrió pertenece a ${shop}.`,
  others: 'Sus otras tiendas',
  current: 'Ahora trabaja aquí',
  noneTitle: 'Todavía no está en ninguna tienda',
  none: 'Pida a un propietario o administrador de su tienda que le invite. Indíquele el correo con el que inició sesión:',
  statuses: {
    trial: 'De prueba',
    active: 'Activa',
    past_due: 'Pago pendiente',
    suspended: 'Suspendida',
    cancelled: 'Cerrada',
  },
  notices: {
    'shop-switched': ({ shop }) => `Ahora trabaja en ${shop}.`,
  },
}

export const shops = { en, es }
