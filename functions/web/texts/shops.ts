const en = {
  title: 'Choose a shop',
  intro: 'You work in several shops. Choose the one to work in now.',
  role: 'Role',
  status: 'Status',
  wanted: (shop: string) => `The page that you opened belongs to ${shop}.`,
  others: 'Your other shops',
  open: 'Work in this shop',
  current: 'You work here now',
  noneTitle: 'You are in no shop yet',
  none: 'Ask an owner or an admin of your shop to invite you. Tell them the email address that you signed in with:',
  statuses: { trial: 'Trial', active: 'Active', past_due: 'Payment due', suspended: 'Suspended', cancelled: 'Closed' },
  notices: {
    'shop-switched': 'You switched to another shop.',
  },
}

const es: typeof en = {
  title: 'Elija una tienda',
  intro: 'Usted trabaja en varias tiendas. Elija en cuál quiere trabajar ahora.',
  role: 'Rol',
  status: 'Estado',
  wanted: (shop) => `La página que abrió pertenece a ${shop}.`,
  others: 'Sus otras tiendas',
  open: 'Trabajar en esta tienda',
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
    'shop-switched': 'Ha cambiado de tienda.',
  },
}

export const shops = { en, es }
