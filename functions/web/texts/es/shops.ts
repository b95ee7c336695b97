import type { Texts } from '#web/texts/texts.ts'

export const shops: Texts['shops'] = {
  title: 'Elija una tienda',
  intro: 'Usted trabaja en varias tiendas. Elija en cuál quiere trabajar ahora.',
  role: 'Rol',
  status: 'Estado',
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
}

export const otherShop: Texts['otherShop'] = {
  title: 'Otra tienda',
  acting: (shop) => `Ahora actúa en ${shop}.`,
  wanted: (shop) => `Esta página pertenece a ${shop}. No se cambió nada.`,
  switch: (shop) => `Cambiar a ${shop}`,
}

export const start: Texts['start'] = {
  greeting: (name) => `Ha iniciado sesión como ${name}.`,
  role: 'Su rol',
  status: 'Estado de la tienda',
  timezone: 'Zona horaria',
  mayDo: 'Lo que puede hacer',
  nothing: 'Su rol todavía no tiene páginas aquí.',
}
