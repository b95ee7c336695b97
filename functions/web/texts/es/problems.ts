import type { ProblemKind } from '#shared/base/problem.ts'
import type * as en from '#web/texts/en/problems.ts'

const titles: Readonly<Record<ProblemKind, string>> = {
  'validation-failed': 'Solicitud no válida',
  'malformed-json': 'JSON mal formado',
  'token-invalid': 'Enlace no válido o caducado',
  'tenant-not-selected': 'Ninguna tienda seleccionada',
  'already-member': 'Ya es miembro',
  'invitations-stopped': 'Invitaciones detenidas',
  'role-exists': 'El rol ya existe',
  'role-in-use': 'Rol en uso',
  'role-limit': 'Demasiados roles',
  'key-exists': 'Clave de API existente',
  'key-limit': 'Demasiadas claves de API',
  'key-ended': 'Clave de API terminada',
  'key-rotated': 'Clave de API con otro secreto',
  'factor-rejected': 'Segundo factor rechazado',
  'sign-in-expired': 'Inicio de sesión caducado',
  'second-factor-required': 'Se necesita un segundo paso',
  'factor-limit': 'Demasiadas llaves de acceso',
  'passkey-exists': 'Llave de acceso existente',
  'last-factor': 'Último segundo factor',
  'step-up-required': 'Se necesita una confirmación',
  'draft-expired': 'Borrador caducado',
  'last-owner': 'Último propietario',
  'password-rejected': 'Contraseña no aceptada',
  'sync-active': 'Sincronización en curso',
  'vendor-rejected': 'Credenciales rechazadas por el proveedor',
  'vendor-unreachable': 'Proveedor no disponible',
  'currency-in-use': 'Moneda en uso',
  'deal-locked': 'Pedido bloqueado',
  'precondition-failed': 'Condición no cumplida',
  'position-expired': 'Posición caducada',
  'idempotency-key-reused': 'Clave de idempotencia repetida',
  'rate-limited': 'Demasiados intentos',
  'dependency-unavailable': 'Servicio no disponible temporalmente',
}

const actions: Readonly<Record<ProblemKind, string>> = {
  'validation-failed':
    'Falta un campo de la solicitud o no es válido. `errors` nombra cada campo. Corríjalos y envíe la solicitud de nuevo.',
  'malformed-json': 'El cuerpo de la solicitud no es JSON o está anidado en exceso. Envíe JSON válido en UTF-8.',
  'token-invalid': 'El enlace del correo era para otra cosa, se canceló o ha caducado. Pida uno nuevo.',
  'tenant-not-selected':
    'La sesión no ha seleccionado ninguna tienda, o ha seleccionado otra. Seleccione una y envíe la solicitud de nuevo.',
  'already-member': 'La persona ya es miembro de la tienda. Cambie su rol en lugar de invitarla.',
  'invitations-stopped':
    'Demasiadas invitaciones de la tienda se devolvieron o se marcaron como correo no deseado. Revise las direcciones y pida al operador del servicio que permita de nuevo las invitaciones.',
  'role-exists': 'La tienda ya tiene un rol con este código. Elija otro código.',
  'role-in-use': 'Hay miembros o invitaciones abiertas con este rol. Deles antes otro rol.',
  'role-limit': 'La tienda tiene tantos roles propios como puede tener. Elimine uno que nadie necesite.',
  'key-exists': 'Una clave de API vigente de la tienda tiene este nombre. Elija otro.',
  'key-limit': 'La tienda tiene tantas claves de API vigentes como puede tener. Revoque una que nadie necesite.',
  'key-ended': 'La clave de API está revocada o ha caducado. Cree otra.',
  'key-rotated': 'La clave ya tiene otro secreto. Lea la clave y cámbielo si aún hace falta.',
  'factor-rejected': 'El código o la llave de acceso no es correcto, ya se usó o ha caducado. Envíe otro.',
  'sign-in-expired':
    'El inicio de sesión duró demasiado o tuvo demasiados intentos. Inicie sesión de nuevo con la contraseña.',
  'second-factor-required':
    'La tienda pide un segundo factor y esta sesión no lo ha demostrado. Configure uno, o entre con él, y repita la petición.',
  'factor-limit': 'La persona tiene diez llaves de acceso. Quite una antes de añadir otra.',
  'passkey-exists': 'La llave de acceso ya pertenece a una persona. Úsela o cree otra.',
  'last-factor': 'Una tienda de la persona pide un segundo factor. Añada otro antes de quitar este.',
  'step-up-required':
    'Confirme que es usted con el segundo factor, o con la contraseña si no tiene ninguno, y repita la solicitud.',
  'draft-expired': 'El borrador caducó, ya se usó o es de otra sesión. Cree uno nuevo.',
  'last-owner': 'El cambio dejaría la tienda sin propietario. Nombre antes a otra persona como propietaria.',
  'password-rejected': 'La contraseña nueva es demasiado fácil de averiguar. `errors` dice por qué. Elija otra.',
  'sync-active': 'Hay una sincronización de este proveedor en cola o en curso. Espere a que termine.',
  'vendor-rejected': 'El proveedor no aceptó el número de cuenta y la clave. Compruebe ambos con el proveedor.',
  'vendor-unreachable': 'El proveedor no respondió a tiempo. La solicitud es correcta. Envíela de nuevo más tarde.',
  'currency-in-use': 'La tienda tiene pedidos en su moneda. La moneda ya no puede cambiar.',
  'deal-locked':
    'El estado del pedido no permite este cambio. Lea el pedido y conviértalo en borrador si eso está permitido.',
  'precondition-failed': 'El recurso ha cambiado desde que se leyó. Léalo de nuevo y decida qué cambiar.',
  'position-expired':
    'Se han eliminado eventos posteriores a esta posición. Compare lo que le falta y empiece sin `after`.',
  'idempotency-key-reused':
    'La clave se envió con otra solicitud en las últimas 24 horas. Use una clave nueva para cada operación.',
  'rate-limited': 'Hubo demasiados intentos. Espere los segundos que indica `Retry-After`.',
  'dependency-unavailable':
    'Una parte del servicio no responde. Envíe la solicitud de nuevo tras los segundos de `Retry-After`. Una escritura puede haber surtido efecto.',
}

export const problemPages: typeof en.problemPages = {
  titles,
  actions,
  status: 'Estado HTTP',
  kind: 'Tipo',
  about: 'La API responde con este tipo de problema (RFC 9457) cuando rechaza una solicitud.',
}
