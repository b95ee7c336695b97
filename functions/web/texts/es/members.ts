import type { Texts } from '#web/texts/texts.ts'

export const members: Texts['members'] = {
  title: 'Miembros',
  caption: 'Miembros de la tienda',
  filters: 'Buscar miembros',
  search: 'Nombre o correo electrónico',
  current: 'Activos e invitados',
  person: 'Persona',
  email: 'Correo electrónico',
  status: 'Estado',
  role: 'Rol',
  roleOf: (name) => `Rol de ${name}`,
  change: 'Cambiar el rol',
  may: (permissions) => `Puede ${permissions}.`,
  since: 'Desde',
  actions: 'Acciones',
  remove: 'Quitar',
  invite: 'Invitar a alguien',
  noneTitle: 'No se encontró a nadie',
  none: 'Ningún miembro coincide con la búsqueda. Bórrela o invite a alguien.',
  states: { active: 'Activo', invited: 'Invitado', disabled: 'Desactivado', removed: 'Quitado' },
  removeTitle: (name) => `¿Quitar a ${name}?`,
  removeText: (name, shop) =>
    `${name} perderá de inmediato el acceso a ${shop}, en todos los dispositivos. Puede volver a invitarle más tarde.`,
  removeConfirm: 'Quitar de la tienda',
}

export const invitations: Texts['invitations'] = {
  title: 'Invitaciones',
  newTitle: 'Invitar a alguien',
  openTitle: 'Invitaciones abiertas',
  caption: 'Invitaciones abiertas',
  email: 'Correo electrónico',
  emailHint: 'Enviamos un enlace a esta dirección.',
  send: 'Enviar la invitación',
  expires: 'Caduca',
  resend: 'Enviar de nuevo',
  cancel: 'Cancelar',
  bounced: 'El correo fue devuelto',
  noneTitle: 'No hay invitaciones abiertas',
  none: 'Invite a alguien con el formulario de arriba. Aparecerá aquí hasta que acepte.',
  states: { pending: 'Enviada', expired: 'Caducada', cancelled: 'Cancelada' },
}

export const roles: Texts['roles'] = {
  title: 'Roles',
  caption: 'Roles que pueden tener los miembros de la tienda',
  role: 'Rol',
  kind: 'Creado por',
  may: 'Puede',
  ofShop: 'Esta tienda',
  ofPlatform: 'La plataforma',
  everything: 'hacer todo',
  newTitle: 'Añadir un rol',
  newText: 'Un rol de la tienda permite lo que permite otro rol, y algo más. Su rango es el del otro rol.',
  label: 'Nombre',
  code: 'Código',
  codeHint: 'De 2 a 32 letras minúsculas, cifras y guiones, por ejemplo turno-noche. No se puede cambiar después.',
  basedOn: 'Basado en',
  adds: 'También puede',
  create: 'Añadir el rol',
  editTitle: (label) => `Rol ${label}`,
  baseText: (base, may) => `Se basa en ${base}, que puede: ${may}.`,
  save: 'Guardar',
  nothingToAdd: 'Es todo lo que usted puede permitir, así que no hay nada que añadir.',
  deleteTitle: 'Eliminar el rol',
  deleteText: 'Solo se puede eliminar un rol que no tenga ningún miembro ni ninguna invitación.',
  delete: 'Eliminar el rol',
  permissions: {
    'catalog.read': 'ver el catálogo',
    'company.read': 'ver los ajustes',
    'company.write': 'cambiar los ajustes',
    'customer.read': 'ver clientes',
    'customer.write': 'cambiar clientes',
    'deal.price.read': 'ver precios de pedidos',
    'deal.price.write': 'cambiar precios de pedidos',
    'deal.read': 'ver pedidos',
    'deal.write': 'cambiar pedidos',
    'design.approve': 'aprobar diseños',
    'design.read': 'ver diseños',
    'design.write': 'cambiar diseños',
    'member.manage': 'gestionar miembros',
    'vendor.manage': 'gestionar cuentas de proveedores',
  },
}

export const auditLog: Texts['auditLog'] = {
  title: 'Registro de auditoría',
  filters: 'Buscar entradas',
  actor: 'Quién',
  anybody: 'Cualquiera',
  action: 'Qué',
  anything: 'Cualquier cosa',
  from: 'Desde',
  to: 'Hasta',
  noneTitle: 'No se encontraron entradas',
  none: 'Nada coincide con los filtros. Elija un período más largo u otra persona.',
  system: 'La plataforma',
  somebody: 'alguien',
  other: (who, action) => `${who}: ${action}.`,
  actions: {
    'data_key.destroyed': {
      label: 'Clave de cifrado destruida',
      sentence: ({ who }) => `${who} destruyó una clave de cifrado de la tienda.`,
    },
    'data_key.rewrapped': {
      label: 'Clave de cifrado envuelta de nuevo',
      sentence: ({ who }) => `${who} pasó la clave de cifrado de la tienda a otra clave maestra.`,
    },
    'data_key.rotated': {
      label: 'Clave de cifrado renovada',
      sentence: ({ who }) => `${who} dio a la tienda una nueva clave de cifrado.`,
    },
    'deal.changed': { label: 'Pedido cambiado', sentence: ({ who }) => `${who} cambió un pedido.` },
    'deal.created': {
      label: 'Pedido creado',
      sentence: ({ who, value }) => `${who} creó el pedido ${value('number')}.`,
    },
    'deal.lines_replaced': {
      label: 'Líneas de un pedido cambiadas',
      sentence: ({ who }) => `${who} cambió las líneas de un pedido.`,
    },
    'design.approved': { label: 'Diseño aprobado', sentence: ({ who }) => `${who} aprobó un diseño.` },
    'design.asset_added': {
      label: 'Archivo añadido a un diseño',
      sentence: ({ who, value }) => `${who} añadió el archivo ${value('file_name')} a un diseño.`,
    },
    'design.asset_removed': {
      label: 'Archivo quitado de un diseño',
      sentence: ({ who, value }) => `${who} quitó el archivo ${value('file_name')} de un diseño.`,
    },
    'design.created': {
      label: 'Diseño creado',
      sentence: ({ who, value }) => `${who} creó el diseño ${value('name')}.`,
    },
    'design.primary_asset_chosen': {
      label: 'Archivo principal de un diseño elegido',
      sentence: ({ who }) => `${who} eligió otro archivo principal de un diseño.`,
    },
    'invitation.bounce_cleared': {
      label: 'Se puede volver a escribir a una invitación',
      sentence: ({ who, target }) => `${who} volvió a permitir el correo a ${target}.`,
    },
    'invitation.bounced': {
      label: 'Invitación devuelta',
      sentence: ({ target }) => `La invitación a ${target} no se pudo entregar.`,
    },
    'invitation.cancelled': {
      label: 'Invitación cancelada',
      sentence: ({ who, target }) => `${who} canceló la invitación a ${target}.`,
    },
    'invitation.created': {
      label: 'Invitación enviada',
      sentence: ({ who, target, value }) => `${who} invitó a ${target} como ${value('role')}.`,
    },
    'invitation.replaced': {
      label: 'Invitación sustituida',
      sentence: ({ who, target, value }) => `${who} volvió a invitar a ${target}, como ${value('role')}.`,
    },
    'invitation.resent': {
      label: 'Invitación enviada de nuevo',
      sentence: ({ who, target }) => `${who} envió de nuevo la invitación a ${target}.`,
    },
    'invitation.role_changed': {
      label: 'Rol de una invitación cambiado',
      sentence: ({ who, target, value }) => `${who} cambió el rol de la invitación a ${target} a ${value('role')}.`,
    },
    'membership.accepted': {
      label: 'Invitación aceptada',
      sentence: ({ who, value }) => `${who} se unió a la tienda como ${value('role')}.`,
    },
    'membership.revoked': {
      label: 'Miembro quitado',
      sentence: ({ who, target }) => `${who} quitó a ${target} de la tienda.`,
    },
    'membership.role_changed': {
      label: 'Rol de un miembro cambiado',
      sentence: ({ who, target, value }) => `${who} dio a ${target} el rol ${value('role')}.`,
    },
    'price_breaks.replaced': {
      label: 'Precios por cantidad cambiados',
      sentence: ({ who }) => `${who} cambió los precios por cantidad de un estilo.`,
    },
    'role.changed': { label: 'Rol cambiado', sentence: ({ who, value }) => `${who} cambió el rol ${value('label')}.` },
    'role.created': { label: 'Rol añadido', sentence: ({ who, value }) => `${who} añadió el rol ${value('label')}.` },
    'role.deleted': { label: 'Rol eliminado', sentence: ({ who, value }) => `${who} eliminó el rol ${value('code')}.` },
    'service.entered': {
      label: 'Un servicio actuó en la tienda',
      sentence: ({ value }) => `El servicio ${value('role')} actuó en la tienda.`,
    },
    'service.granted': {
      label: 'Servicio admitido',
      sentence: ({ who, value }) => `${who} admitió el servicio ${value('role')} en la tienda.`,
    },
    'service.revoked': {
      label: 'Servicio excluido',
      sentence: ({ who, value }) => `${who} excluyó el servicio ${value('role')} de la tienda.`,
    },
    'session.revoked': { label: 'Sesión terminada', sentence: ({ who }) => `Se terminó una sesión de ${who}.` },
    'session.sign_in_failed': {
      label: 'Inicio de sesión fallido',
      sentence: ({ target }) => `Alguien intentó iniciar sesión como ${target} sin éxito.`,
    },
    'session.signed_out': { label: 'Sesión cerrada', sentence: ({ who }) => `${who} cerró la sesión.` },
    'session.tenant_selected': {
      label: 'Trabajo empezado',
      sentence: ({ who }) => `${who} empezó a trabajar en esta tienda.`,
    },
    'sync_run.abandoned': {
      label: 'Sincronización abandonada',
      sentence: () => 'Se abandonó una sincronización del catálogo.',
    },
    'sync_run.created': {
      label: 'Sincronización iniciada',
      sentence: ({ who }) => `${who} inició una sincronización del catálogo.`,
    },
    'tenant.changed': { label: 'Ajustes cambiados', sentence: ({ who }) => `${who} cambió los ajustes de la tienda.` },
    'tenant.created': { label: 'Tienda creada', sentence: ({ who }) => `${who} creó la tienda.` },
    'tenant.status_changed': {
      label: 'Estado de la tienda cambiado',
      sentence: ({ who, value }) => `${who} cambió el estado de la tienda a ${value('status')}.`,
    },
    'user.bounce_cleared': {
      label: 'Se puede volver a escribir a una dirección',
      sentence: ({ who }) => `${who} volvió a permitir el correo a la dirección de un miembro.`,
    },
    'user.bounced': {
      label: 'Correo devuelto',
      sentence: () => 'El correo a la dirección de un miembro no se pudo entregar.',
    },
    'user.disabled': {
      label: 'Persona desactivada',
      sentence: ({ who }) => `${who} desactivó el acceso de un miembro.`,
    },
    'user.enabled': { label: 'Persona activada', sentence: ({ who }) => `${who} activó el acceso de un miembro.` },
    'user.password_changed': { label: 'Contraseña cambiada', sentence: ({ who }) => `${who} cambió su contraseña.` },
    'user.password_reset': {
      label: 'Contraseña restablecida',
      sentence: ({ who }) => `${who} puso una nueva contraseña con un enlace.`,
    },
    'vendor_account.created': {
      label: 'Cuenta de proveedor conectada',
      sentence: ({ who }) => `${who} conectó una cuenta de proveedor.`,
    },
    'vendor_account.opened': {
      label: 'Credenciales de proveedor usadas',
      sentence: ({ who }) => `${who} usó las credenciales de una cuenta de proveedor.`,
    },
    'vendor_account.refused': {
      label: 'Credenciales rechazadas por el proveedor',
      sentence: ({ who }) => `Un proveedor rechazó las credenciales que envió ${who}.`,
    },
    'vendor_account.revoked': {
      label: 'Cuenta de proveedor quitada',
      sentence: ({ who }) => `${who} quitó una cuenta de proveedor.`,
    },
    'vendor_account.secret_replaced': {
      label: 'Credenciales de proveedor sustituidas',
      sentence: ({ who }) => `${who} sustituyó las credenciales de una cuenta de proveedor.`,
    },
    'vendor_account.verified': {
      label: 'Cuenta de proveedor verificada',
      sentence: ({ who }) => `${who} verificó una cuenta de proveedor.`,
    },
  },
}
