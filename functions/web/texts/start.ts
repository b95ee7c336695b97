const en = {
  greeting: (name: string) => `Signed in as ${name}.`,
  role: 'Your role',
  status: 'Status of the shop',
  timezone: 'Time zone',
  waits: 'What waits for you',
  nothingWaits: 'Nothing waits for you.',
  paymentDue: 'A payment for the shop is due.',
  unverified: 'You have not confirmed your email address yet.',
  bounced: (count: number, shown: string) =>
    count === 1 ? '1 invitation could not be delivered.' : `${shown} invitations could not be delivered.`,
  expired: (count: number, shown: string) =>
    count === 1 ? '1 invitation has expired.' : `${shown} invitations have expired.`,
  unverifiedAccounts: (count: number, shown: string) =>
    count === 1 ? '1 vendor account is not verified.' : `${shown} vendor accounts are not verified.`,
  syncFailed: (vendor: string) => `The sync of ${vendor} failed:`,
  toApprove: (count: number, shown: string) =>
    count === 1 ? '1 design waits for approval.' : `${shown} designs wait for approval.`,
  members: (count: number, shown: string) => (count === 1 ? '1 member' : `${shown} members`),
  invited: (count: number, shown: string) => (count === 1 ? '1 open invitation' : `${shown} open invitations`),
  accounts: (count: number, shown: string) => (count === 1 ? '1 vendor account' : `${shown} vendor accounts`),
  failedSignIns: (count: number, shown: string) =>
    count === 1 ? '1 failed sign-in in the last 24 hours' : `${shown} failed sign-ins in the last 24 hours`,
  deals: 'Deals',
  openDeals: (drafts: string, quoted: string) => `Drafts: ${drafts} · Quoted: ${quoted}`,
  designs: 'Designs without approval',
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
  waits: 'Lo que le espera',
  nothingWaits: 'No le espera nada.',
  paymentDue: 'La tienda tiene un pago pendiente.',
  unverified: 'Todavía no ha confirmado su correo electrónico.',
  bounced: (count, shown) =>
    count === 1 ? '1 invitación no se pudo entregar.' : `${shown} invitaciones no se pudieron entregar.`,
  expired: (count, shown) => (count === 1 ? '1 invitación ha caducado.' : `${shown} invitaciones han caducado.`),
  unverifiedAccounts: (count, shown) =>
    count === 1 ? '1 cuenta de proveedor está sin verificar.' : `${shown} cuentas de proveedores están sin verificar.`,
  syncFailed: (vendor) => `La sincronización de ${vendor} falló:`,
  toApprove: (count, shown) => (count === 1 ? '1 diseño espera aprobación.' : `${shown} diseños esperan aprobación.`),
  members: (count, shown) => (count === 1 ? '1 miembro' : `${shown} miembros`),
  invited: (count, shown) => (count === 1 ? '1 invitación abierta' : `${shown} invitaciones abiertas`),
  accounts: (count, shown) => (count === 1 ? '1 cuenta de proveedor' : `${shown} cuentas de proveedores`),
  failedSignIns: (count, shown) =>
    count === 1
      ? '1 inicio de sesión fallido en las últimas 24 horas'
      : `${shown} inicios de sesión fallidos en las últimas 24 horas`,
  deals: 'Pedidos',
  openDeals: (drafts, quoted) => `Borradores: ${drafts} · Presupuestados: ${quoted}`,
  designs: 'Diseños sin aprobar',
  mayDo: 'Lo que permite su rol',
  nothing: 'Su rol no permite nada aquí. Pregunte a un propietario o administrador de la tienda.',
  elsewhere: (platform) => `Su trabajo está en las otras aplicaciones de ${platform}`,
  navigation: { label: 'Resumen', purpose: 'Su tienda y su rol.' },
}

export const start = { en, es }
