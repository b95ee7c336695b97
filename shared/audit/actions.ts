// This file has more than 300 lines, so that an action and its texts stand together.
import type { EventKey } from '#shared/audit/event-keys.ts'
import type { AuditField } from '#shared/audit/fields.ts'
import type { Language } from '#shared/schema/language.ts'

/** What a sentence names: who acted, on whom or what, and the values before and after. */
export interface Named {
  readonly who: string
  readonly target: string
  /** The name of the target that is no person, after what it is: "deal 17". Without a name: "a deal". */
  readonly thing: (unnamed: string, kind: string) => string
  /** A value of the entry's `after`, or of `before` when `after` has none, in words. */
  readonly value: (field: AuditField) => string
}

/** How the pages show an entry: the label of its action in the filter, and what the entry says. */
type Told = readonly [label: string, sentence: (named: Named) => string]

/**
 * Every action of the audit log, with the type of its target and the keys of `before` and `after` that leave in its event. The actions
 * with null in place of keys are not published: what happens to sessions, passwords and mails of one person, the keys of the vault,
 * and the tenants that services enter. Functions of the database write some entries: a test looks for them in the migrations. A new
 * action is a line here, its texts below and, if it is published, one row of app.event_actions in its migration.
 */
export const AUDIT_ACTIONS = {
  'api_key.created': { target: 'api_key', event: ['permissions', 'expires_at'] },
  'api_key.renamed': { target: 'api_key', event: ['permissions', 'expires_at'] },
  'api_key.revoked': { target: 'api_key', event: ['permissions', 'expires_at'] },
  'api_key.rotated': { target: 'api_key', event: ['permissions', 'expires_at'] },
  'audit_log.downloaded': { target: 'tenant', event: null },
  'data_key.destroyed': { target: 'data_key', event: null },
  'data_key.rewrapped': { target: 'data_key', event: null },
  'data_key.rotated': { target: 'data_key', event: null },
  'deal.changed': { target: 'deal', event: ['status'] },
  'deal.created': { target: 'deal', event: ['number'] },
  'deal.lines_replaced': { target: 'deal', event: ['lines'] },
  'design.approved': { target: 'design', event: [] },
  'design.asset_added': { target: 'design', event: ['asset_id', 'approved_by'] },
  'design.asset_removed': { target: 'design', event: ['asset_id', 'approved_by'] },
  'design.created': { target: 'design', event: [] },
  'design.primary_asset_chosen': { target: 'design', event: ['asset_id'] },
  'invitation.bounce_cleared': { target: 'invitation', event: null },
  'invitation.bounced': { target: 'invitation', event: null },
  'invitation.cancelled': { target: 'invitation', event: ['role'] },
  'invitation.created': { target: 'invitation', event: ['role'] },
  'invitation.replaced': { target: 'invitation', event: ['role'] },
  'invitation.resent': { target: 'invitation', event: [] },
  'invitation.role_changed': { target: 'invitation', event: ['role'] },
  'membership.accepted': { target: 'membership', event: ['role'] },
  'membership.revoked': { target: 'membership', event: ['role'] },
  'membership.role_changed': { target: 'membership', event: ['role'] },
  'membership.sessions_ended': { target: 'membership', event: null },
  'price_breaks.replaced': { target: 'style', event: ['min_quantities'] },
  'role.changed': { target: 'role', event: ['id', 'permissions'] },
  'role.created': { target: 'role', event: ['id', 'code', 'based_on', 'permissions'] },
  'role.deleted': { target: 'role', event: ['id', 'code'] },
  'service.entered': { target: 'service', event: null },
  'service.granted': { target: 'service', event: null },
  'service.revoked': { target: 'service', event: null },
  'session.revoked': { target: 'session', event: null },
  'session.sign_in_failed': { target: 'user', event: null },
  'session.signed_out': { target: 'session', event: null },
  'session.stepped_up': { target: 'session', event: null },
  'session.tenant_selected': { target: 'session', event: null },
  'sync_run.abandoned': { target: 'sync_run', event: [] },
  'sync_run.created': { target: 'sync_run', event: ['vendor', 'vendor_account_id'] },
  'tenant.changed': { target: 'tenant', event: ['timezone', 'currency', 'changed_settings'] },
  'tenant.created': { target: 'tenant', event: ['slug', 'status'] },
  'tenant.invitations_allowed': { target: 'tenant', event: null },
  'tenant.invitations_stopped': { target: 'tenant', event: null },
  'tenant.second_factor_policy_changed': { target: 'tenant', event: ['second_factor'] },
  'tenant.status_changed': { target: 'tenant', event: ['status'] },
  'user.bounce_cleared': { target: 'user', event: null },
  'user.bounced': { target: 'user', event: null },
  'user.disabled': { target: 'user', event: [] },
  'user.enabled': { target: 'user', event: [] },
  'user.password_changed': { target: 'user', event: null },
  'user.password_reset': { target: 'user', event: null },
  'user.recovery_code_used': { target: 'user', event: null },
  'user.recovery_codes_renewed': { target: 'user', event: null },
  'user.recovery_codes_voided': { target: 'user', event: null },
  'user.second_factor_added': { target: 'user', event: null },
  'user.second_factor_failed': { target: 'user', event: null },
  'user.second_factor_removed': { target: 'user', event: null },
  'user.second_factor_reset': { target: 'user', event: null },
  'user.second_factor_reset_cancelled': { target: 'user', event: null },
  'user.second_factor_reset_requested': { target: 'user', event: null },
  'vendor_account.created': { target: 'vendor_account', event: ['vendor'] },
  'vendor_account.opened': { target: 'vendor_account', event: ['secret_version'] },
  'vendor_account.refused': { target: 'vendor_account', event: ['secret_version'] },
  'vendor_account.revoked': { target: 'vendor_account', event: ['vendor'] },
  'vendor_account.secret_replaced': { target: 'vendor_account', event: ['secret_version'] },
  'vendor_account.verified': { target: 'vendor_account', event: ['secret_version'] },
} as const satisfies Readonly<Record<string, { readonly target: string; readonly event: readonly EventKey[] | null }>>

export type AuditAction = keyof typeof AUDIT_ACTIONS

/** The actions that leave as events. */
export type PublishedAction = {
  [Action in AuditAction]: (typeof AUDIT_ACTIONS)[Action]['event'] extends null ? never : Action
}[AuditAction]

export const isPublished = (action: AuditAction): action is PublishedAction => AUDIT_ACTIONS[action].event !== null

/** How the pages show each action. It stands beside the table, so that only the bundles that show it contain it. */
export const AUDIT_TEXTS: Readonly<Record<AuditAction, Readonly<Record<Language, Told>>>> = {
  'api_key.created': {
    en: ['API key created', ({ who, thing }) => `${who} created ${thing('an API key', 'the API key')}.`],
    es: ['Clave de API creada', ({ who, thing }) => `${who} creó ${thing('una clave de API', 'la clave de API')}.`],
  },
  'api_key.renamed': {
    en: ['API key renamed', ({ who, value }) => `${who} renamed an API key to ${value('name')}.`],
    es: [
      'Nombre de una clave de API cambiado',
      ({ who, value }) => `${who} llamó ${value('name')} a una clave de API.`,
    ],
  },
  'api_key.revoked': {
    en: [
      'API key revoked',
      ({ who, thing, value }) =>
        `${value('by') === 'possession' ? 'Somebody who had it' : who} revoked ${thing('an API key', 'the API key')}.`,
    ],
    es: [
      'Clave de API revocada',
      ({ who, thing, value }) =>
        `${value('by') === 'possession' ? 'Alguien que la tenía' : who} revocó ${thing('una clave de API', 'la clave de API')}.`,
    ],
  },
  'api_key.rotated': {
    en: ['API key rotated', ({ who, thing }) => `${who} gave ${thing('an API key', 'the API key')} a new secret.`],
    es: [
      'Clave de API renovada',
      ({ who, thing }) => `${who} dio un nuevo secreto a ${thing('una clave de API', 'la clave de API')}.`,
    ],
  },
  'audit_log.downloaded': {
    en: ['Audit log downloaded', ({ who }) => `${who} downloaded entries of the audit log.`],
    es: ['Registro de auditoría descargado', ({ who }) => `${who} descargó entradas del registro de auditoría.`],
  },
  'data_key.destroyed': {
    en: ['Encryption key destroyed', ({ who }) => `${who} destroyed an encryption key of the shop.`],
    es: ['Clave de cifrado destruida', ({ who }) => `${who} destruyó una clave de cifrado de la tienda.`],
  },
  'data_key.rewrapped': {
    en: ['Encryption key rewrapped', ({ who }) => `${who} moved the shop's encryption key to another master key.`],
    es: [
      'Clave de cifrado envuelta de nuevo',
      ({ who }) => `${who} pasó la clave de cifrado de la tienda a otra clave maestra.`,
    ],
  },
  'data_key.rotated': {
    en: ['Encryption key rotated', ({ who }) => `${who} gave the shop a new encryption key.`],
    es: ['Clave de cifrado renovada', ({ who }) => `${who} dio a la tienda una nueva clave de cifrado.`],
  },
  'deal.changed': {
    en: ['Deal changed', ({ who, thing }) => `${who} changed ${thing('a deal', 'deal')}.`],
    es: ['Pedido cambiado', ({ who, thing }) => `${who} cambió ${thing('un pedido', 'el pedido')}.`],
  },
  'deal.created': {
    en: ['Deal created', ({ who, value }) => `${who} created deal ${value('number')}.`],
    es: ['Pedido creado', ({ who, value }) => `${who} creó el pedido ${value('number')}.`],
  },
  'deal.lines_replaced': {
    en: ['Lines of a deal changed', ({ who, thing }) => `${who} changed the lines of ${thing('a deal', 'deal')}.`],
    es: [
      'Líneas de un pedido cambiadas',
      ({ who, thing }) => `${who} cambió las líneas de ${thing('un pedido', 'el pedido')}.`,
    ],
  },
  'design.approved': {
    en: ['Design approved', ({ who, thing }) => `${who} approved ${thing('a design', 'the design')}.`],
    es: ['Diseño aprobado', ({ who, thing }) => `${who} aprobó ${thing('un diseño', 'el diseño')}.`],
  },
  'design.asset_added': {
    en: [
      'File added to a design',
      ({ who, thing, value }) => `${who} added the file ${value('file_name')} to ${thing('a design', 'the design')}.`,
    ],
    es: [
      'Archivo añadido a un diseño',
      ({ who, thing, value }) => `${who} añadió el archivo ${value('file_name')} a ${thing('un diseño', 'el diseño')}.`,
    ],
  },
  'design.asset_removed': {
    en: [
      'File removed from a design',
      ({ who, thing, value }) =>
        `${who} removed the file ${value('file_name')} from ${thing('a design', 'the design')}.`,
    ],
    es: [
      'Archivo quitado de un diseño',
      ({ who, thing, value }) => `${who} quitó el archivo ${value('file_name')} de ${thing('un diseño', 'el diseño')}.`,
    ],
  },
  'design.created': {
    en: ['Design created', ({ who, value }) => `${who} created the design ${value('name')}.`],
    es: ['Diseño creado', ({ who, value }) => `${who} creó el diseño ${value('name')}.`],
  },
  'design.primary_asset_chosen': {
    en: [
      'Primary file of a design chosen',
      ({ who, thing }) => `${who} chose another primary file of ${thing('a design', 'the design')}.`,
    ],
    es: [
      'Archivo principal de un diseño elegido',
      ({ who, thing }) => `${who} eligió otro archivo principal de ${thing('un diseño', 'el diseño')}.`,
    ],
  },
  'invitation.bounce_cleared': {
    en: ['Invitation can be mailed again', ({ who, target }) => `${who} allowed mail to ${target} again.`],
    es: [
      'Se puede volver a escribir a una invitación',
      ({ who, target }) => `${who} volvió a permitir el correo a ${target}.`,
    ],
  },
  'invitation.bounced': {
    en: ['Invitation came back', ({ target }) => `The invitation to ${target} could not be delivered.`],
    es: ['Invitación devuelta', ({ target }) => `La invitación a ${target} no se pudo entregar.`],
  },
  'invitation.cancelled': {
    en: ['Invitation cancelled', ({ who, target }) => `${who} cancelled the invitation to ${target}.`],
    es: ['Invitación cancelada', ({ who, target }) => `${who} canceló la invitación a ${target}.`],
  },
  'invitation.created': {
    en: ['Invitation sent', ({ who, target, value }) => `${who} invited ${target} as ${value('role')}.`],
    es: ['Invitación enviada', ({ who, target, value }) => `${who} invitó a ${target} como ${value('role')}.`],
  },
  'invitation.replaced': {
    en: ['Invitation replaced', ({ who, target, value }) => `${who} invited ${target} again, as ${value('role')}.`],
    es: [
      'Invitación sustituida',
      ({ who, target, value }) => `${who} volvió a invitar a ${target}, como ${value('role')}.`,
    ],
  },
  'invitation.resent': {
    en: ['Invitation sent again', ({ who, target }) => `${who} sent the invitation to ${target} again.`],
    es: ['Invitación enviada de nuevo', ({ who, target }) => `${who} envió de nuevo la invitación a ${target}.`],
  },
  'invitation.role_changed': {
    en: [
      'Role of an invitation changed',
      ({ who, target, value }) => `${who} changed the role in the invitation to ${target} to ${value('role')}.`,
    ],
    es: [
      'Rol de una invitación cambiado',
      ({ who, target, value }) => `${who} cambió el rol de la invitación a ${target} a ${value('role')}.`,
    ],
  },
  'membership.accepted': {
    en: ['Invitation accepted', ({ who, value }) => `${who} joined the shop as ${value('role')}.`],
    es: ['Invitación aceptada', ({ who, value }) => `${who} se unió a la tienda como ${value('role')}.`],
  },
  'membership.revoked': {
    en: [
      'Member removed, or left',
      ({ who, target, value }) =>
        value('left') === '' ? `${who} removed ${target} from the shop.` : `${who} left the shop.`,
    ],
    es: [
      'Miembro quitado, o se fue',
      ({ who, target, value }) =>
        value('left') === '' ? `${who} quitó a ${target} de la tienda.` : `${who} dejó la tienda.`,
    ],
  },
  'membership.role_changed': {
    en: ['Role of a member changed', ({ who, target, value }) => `${who} made ${target} ${value('role')}.`],
    es: ['Rol de un miembro cambiado', ({ who, target, value }) => `${who} dio a ${target} el rol ${value('role')}.`],
  },
  'membership.sessions_ended': {
    en: ['Sessions of a member ended', ({ who, target }) => `${who} ended the sessions of ${target} in this shop.`],
    es: [
      'Sesiones de un miembro terminadas',
      ({ who, target }) => `${who} terminó las sesiones de ${target} en esta tienda.`,
    ],
  },
  'price_breaks.replaced': {
    en: [
      'Price breaks changed',
      ({ who, thing }) => `${who} changed the price breaks of ${thing('a style', 'style')}.`,
    ],
    es: [
      'Precios por cantidad cambiados',
      ({ who, thing }) => `${who} cambió los precios por cantidad de ${thing('un estilo', 'el estilo')}.`,
    ],
  },
  'role.changed': {
    en: ['Role changed', ({ who, value }) => `${who} changed the role ${value('label')}.`],
    es: ['Rol cambiado', ({ who, value }) => `${who} cambió el rol ${value('label')}.`],
  },
  'role.created': {
    en: ['Role added', ({ who, value }) => `${who} added the role ${value('label')}.`],
    es: ['Rol añadido', ({ who, value }) => `${who} añadió el rol ${value('label')}.`],
  },
  'role.deleted': {
    en: ['Role deleted', ({ who, value }) => `${who} deleted the role ${value('code')}.`],
    es: ['Rol eliminado', ({ who, value }) => `${who} eliminó el rol ${value('code')}.`],
  },
  'service.entered': {
    en: ['Service acted in the shop', ({ value }) => `The service ${value('role')} acted in the shop.`],
    es: ['Un servicio actuó en la tienda', ({ value }) => `El servicio ${value('role')} actuó en la tienda.`],
  },
  'service.granted': {
    en: ['Service admitted', ({ who, value }) => `${who} admitted the service ${value('role')} to the shop.`],
    es: ['Servicio admitido', ({ who, value }) => `${who} admitió el servicio ${value('role')} en la tienda.`],
  },
  'service.revoked': {
    en: ['Service shut out', ({ who, value }) => `${who} shut the service ${value('role')} out of the shop.`],
    es: ['Servicio excluido', ({ who, value }) => `${who} excluyó el servicio ${value('role')} de la tienda.`],
  },
  'session.revoked': {
    en: ['Session ended', ({ who }) => `A session of ${who} was ended.`],
    es: ['Sesión terminada', ({ who }) => `Se terminó una sesión de ${who}.`],
  },
  'session.sign_in_failed': {
    en: ['Failed sign-in', ({ target }) => `Somebody tried to sign in as ${target} and failed.`],
    es: ['Inicio de sesión fallido', ({ target }) => `Alguien intentó iniciar sesión como ${target} sin éxito.`],
  },
  'session.signed_out': {
    en: ['Signed out', ({ who }) => `${who} signed out.`],
    es: ['Sesión cerrada', ({ who }) => `${who} cerró la sesión.`],
  },
  'session.stepped_up': {
    en: ['Presence confirmed', ({ who }) => `${who} confirmed who they are.`],
    es: ['Presencia confirmada', ({ who }) => `${who} confirmó quién es.`],
  },
  'session.tenant_selected': {
    en: ['Work begun', ({ who }) => `${who} began to work in this shop.`],
    es: ['Trabajo empezado', ({ who }) => `${who} empezó a trabajar en esta tienda.`],
  },
  'sync_run.abandoned': {
    en: ['Sync abandoned', ({ thing }) => `A sync of ${thing('the catalog', 'the catalog of')} was abandoned.`],
    es: [
      'Sincronización abandonada',
      ({ thing }) => `Se abandonó una sincronización de ${thing('un catálogo', 'el catálogo de')}.`,
    ],
  },
  'sync_run.created': {
    en: ['Sync started', ({ who, thing }) => `${who} started a sync of ${thing('the catalog', 'the catalog of')}.`],
    es: [
      'Sincronización iniciada',
      ({ who, thing }) => `${who} inició una sincronización de ${thing('un catálogo', 'el catálogo de')}.`,
    ],
  },
  'tenant.changed': {
    en: ['Settings changed', ({ who }) => `${who} changed the settings of the shop.`],
    es: ['Ajustes cambiados', ({ who }) => `${who} cambió los ajustes de la tienda.`],
  },
  'tenant.created': {
    en: ['Shop created', ({ who }) => `${who} created the shop.`],
    es: ['Tienda creada', ({ who }) => `${who} creó la tienda.`],
  },
  'tenant.invitations_allowed': {
    en: ['Invitations allowed again', ({ who }) => `${who} allowed the shop to invite people again.`],
    es: ['Invitaciones permitidas de nuevo', ({ who }) => `${who} volvió a permitir que la tienda invite a personas.`],
  },
  'tenant.invitations_stopped': {
    en: ['Invitations stopped', () => 'Too many invitations came back, so the shop may invite nobody for now.'],
    es: [
      'Invitaciones detenidas',
      () => 'Se devolvieron demasiadas invitaciones, así que la tienda no puede invitar a nadie por ahora.',
    ],
  },
  'tenant.second_factor_policy_changed': {
    en: ['Second step required', ({ who }) => `${who} changed whom the shop asks for a second step.`],
    es: ['Segundo paso exigido', ({ who }) => `${who} cambió a quién pide la tienda un segundo paso.`],
  },
  'tenant.status_changed': {
    en: [
      'Status of the shop changed',
      ({ who, value }) => `${who} changed the status of the shop to ${value('status')}.`,
    ],
    es: [
      'Estado de la tienda cambiado',
      ({ who, value }) => `${who} cambió el estado de la tienda a ${value('status')}.`,
    ],
  },
  'user.bounce_cleared': {
    en: ['Address can be mailed again', ({ who, target }) => `${who} allowed mail to ${target} again.`],
    es: [
      'Se puede volver a escribir a una dirección',
      ({ who, target }) => `${who} volvió a permitir el correo a ${target}.`,
    ],
  },
  'user.bounced': {
    en: ['Mail came back', ({ target }) => `Mail to ${target} could not be delivered.`],
    es: ['Correo devuelto', ({ target }) => `No se pudo entregar el correo a ${target}.`],
  },
  'user.disabled': {
    en: ['Person disabled', ({ who, target }) => `${who} disabled the sign-in of ${target}.`],
    es: ['Persona desactivada', ({ who, target }) => `${who} desactivó el acceso de ${target}.`],
  },
  'user.enabled': {
    en: ['Person enabled', ({ who, target }) => `${who} enabled the sign-in of ${target}.`],
    es: ['Persona activada', ({ who, target }) => `${who} activó el acceso de ${target}.`],
  },
  'user.password_changed': {
    en: ['Password changed', ({ who }) => `${who} changed their password.`],
    es: ['Contraseña cambiada', ({ who }) => `${who} cambió su contraseña.`],
  },
  'user.password_reset': {
    en: ['Password reset', ({ who }) => `${who} set a new password by a link.`],
    es: ['Contraseña restablecida', ({ who }) => `${who} puso una nueva contraseña con un enlace.`],
  },
  'user.recovery_code_used': {
    en: ['Recovery code used', ({ who, value }) => `${who} used a recovery code. ${value('codes_left')} are left.`],
    es: [
      'Código de recuperación usado',
      ({ who, value }) => `${who} usó un código de recuperación. Quedan ${value('codes_left')}.`,
    ],
  },
  'user.recovery_codes_renewed': {
    en: ['Recovery codes renewed', ({ who }) => `${who} made new recovery codes.`],
    es: ['Códigos de recuperación renovados', ({ who }) => `${who} creó códigos de recuperación nuevos.`],
  },
  'user.recovery_codes_voided': {
    en: ['Recovery codes ended', ({ target }) => `An operator ended the recovery codes of ${target}.`],
    es: [
      'Códigos de recuperación anulados',
      ({ target }) => `Un operador anuló los códigos de recuperación de ${target}.`,
    ],
  },
  'user.second_factor_added': {
    en: ['Second factor added', ({ who }) => `${who} set up a second factor.`],
    es: ['Segundo factor añadido', ({ who }) => `${who} configuró un segundo factor.`],
  },
  'user.second_factor_failed': {
    en: ['Second factor refused', ({ target }) => `Somebody failed to prove the second factor of ${target}.`],
    es: ['Segundo factor rechazado', ({ target }) => `Alguien no pudo demostrar el segundo factor de ${target}.`],
  },
  'user.second_factor_removed': {
    en: ['Second factor removed', ({ who }) => `${who} removed a second factor.`],
    es: ['Segundo factor quitado', ({ who }) => `${who} quitó un segundo factor.`],
  },
  'user.second_factor_reset': {
    en: ['Second factor reset', ({ target }) => `The second factor and the password of ${target} were removed.`],
    es: ['Segundo factor restablecido', ({ target }) => `Se quitaron el segundo factor y la contraseña de ${target}.`],
  },
  'user.second_factor_reset_cancelled': {
    en: [
      'Reset of a second factor cancelled',
      ({ target }) => `The reset of the second factor of ${target} was cancelled.`,
    ],
    es: [
      'Restablecimiento de un segundo factor cancelado',
      ({ target }) => `Se canceló el restablecimiento del segundo factor de ${target}.`,
    ],
  },
  'user.second_factor_reset_requested': {
    en: [
      'Reset of a second factor requested',
      ({ who, target }) => `${who} asked to reset the second factor of ${target}.`,
    ],
    es: [
      'Restablecimiento de un segundo factor solicitado',
      ({ who, target }) => `${who} pidió restablecer el segundo factor de ${target}.`,
    ],
  },
  'vendor_account.created': {
    en: [
      'Vendor account connected',
      ({ who, thing }) => `${who} connected ${thing('a vendor account', 'the vendor account')}.`,
    ],
    es: [
      'Cuenta de proveedor conectada',
      ({ who, thing }) => `${who} conectó ${thing('una cuenta de proveedor', 'la cuenta de proveedor')}.`,
    ],
  },
  'vendor_account.opened': {
    en: [
      'Vendor credentials used',
      ({ who, thing }) => `${who} used the credentials of ${thing('a vendor account', 'the vendor account')}.`,
    ],
    es: [
      'Credenciales de proveedor usadas',
      ({ who, thing }) =>
        `${who} usó las credenciales de ${thing('una cuenta de proveedor', 'la cuenta de proveedor')}.`,
    ],
  },
  'vendor_account.refused': {
    en: [
      'Vendor refused credentials',
      ({ who, thing }) =>
        `The vendor refused the credentials that ${who} sent for ${thing('a vendor account', 'the vendor account')}.`,
    ],
    es: [
      'Credenciales rechazadas por el proveedor',
      ({ who, thing }) =>
        `El proveedor rechazó las credenciales que envió ${who} para ${thing('una cuenta de proveedor', 'la cuenta de proveedor')}.`,
    ],
  },
  'vendor_account.revoked': {
    en: [
      'Vendor account removed',
      ({ who, thing }) => `${who} removed ${thing('a vendor account', 'the vendor account')}.`,
    ],
    es: [
      'Cuenta de proveedor quitada',
      ({ who, thing }) => `${who} quitó ${thing('una cuenta de proveedor', 'la cuenta de proveedor')}.`,
    ],
  },
  'vendor_account.secret_replaced': {
    en: [
      'Vendor credentials replaced',
      ({ who, thing }) => `${who} replaced the credentials of ${thing('a vendor account', 'the vendor account')}.`,
    ],
    es: [
      'Credenciales de proveedor sustituidas',
      ({ who, thing }) =>
        `${who} sustituyó las credenciales de ${thing('una cuenta de proveedor', 'la cuenta de proveedor')}.`,
    ],
  },
  'vendor_account.verified': {
    en: [
      'Vendor account verified',
      ({ who, thing }) => `${who} verified ${thing('a vendor account', 'the vendor account')}.`,
    ],
    es: [
      'Cuenta de proveedor verificada',
      ({ who, thing }) => `${who} verificó ${thing('una cuenta de proveedor', 'la cuenta de proveedor')}.`,
    ],
  },
}
