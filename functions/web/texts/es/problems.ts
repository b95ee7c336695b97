import type { ProblemKind } from '#shared/problem.ts'

const titles: Partial<Record<ProblemKind, string>> = {
  'validation-failed': 'Solicitud no válida',
  'malformed-json': 'JSON mal formado',
  'token-invalid': 'Enlace no válido o caducado',
  'tenant-not-selected': 'Ninguna tienda seleccionada',
  'already-member': 'Ya es miembro',
  'role-exists': 'El rol ya existe',
  'role-in-use': 'Rol en uso',
  'role-limit': 'Demasiados roles',
  'last-owner': 'Último propietario',
  'password-rejected': 'Contraseña no aceptada',
  'sync-active': 'Sincronización en curso',
  'vendor-rejected': 'Credenciales rechazadas por el proveedor',
  'vendor-unreachable': 'Proveedor no disponible',
  'currency-in-use': 'Moneda en uso',
  'deal-locked': 'Trato bloqueado',
  'precondition-failed': 'Condición no cumplida',
  'position-expired': 'Posición caducada',
  'rate-limited': 'Demasiados intentos',
  'dependency-unavailable': 'Servicio no disponible temporalmente',
}

const meanings: Partial<Record<ProblemKind, string>> = {
  'validation-failed':
    'Falta un campo de la solicitud o no es válido. "errors" nombra cada campo. Corrígelos y envía la solicitud de nuevo.',
  'malformed-json': 'El cuerpo de la solicitud no es JSON o está anidado en exceso. Envía JSON válido en UTF-8.',
  'token-invalid': 'El enlace del correo era para otra cosa, se canceló o ha caducado. Pide uno nuevo.',
  'tenant-not-selected': 'La sesión aún no actúa en ninguna tienda. Selecciona una y envía la solicitud de nuevo.',
  'already-member': 'La persona ya es miembro de la tienda. Cambia su rol en lugar de invitarla.',
  'role-exists': 'La tienda ya tiene un rol con este código. Elige otro.',
  'role-in-use': 'Hay miembros o invitaciones abiertas con este rol. Dales antes otro rol.',
  'role-limit': 'La tienda tiene tantos roles propios como puede tener. Elimina uno que nadie necesite.',
  'last-owner': 'El cambio dejaría la tienda sin propietario. Nombra antes a otra persona como propietaria.',
  'password-rejected':
    'La contraseña nueva es demasiado corta, demasiado común o apareció en una filtración. "errors" dice cuál es el caso. Elige otra.',
  'sync-active': 'Hay una sincronización del mismo tipo en curso. Espera a que termine.',
  'vendor-rejected': 'El proveedor no aceptó el número de cuenta y la clave. Comprueba ambos con el proveedor.',
  'vendor-unreachable': 'El proveedor no respondió a tiempo. La solicitud es correcta. Inténtalo más tarde.',
  'currency-in-use': 'Hay precios guardados en la moneda de la tienda, por lo que ya no puede cambiar.',
  'deal-locked': 'El trato ha pasado la fase en la que sus líneas pueden cambiar.',
  'precondition-failed': 'Alguien cambió el recurso después de que lo leyeras. Léelo de nuevo y decide qué cambiar.',
  'position-expired':
    'Se han eliminado eventos posteriores a esta posición. Compara con la API lo que te falta y lee los eventos sin posición.',
  'rate-limited': 'Hubo demasiados intentos. La cabecera "Retry-After" dice cuándo intentarlo de nuevo.',
  'dependency-unavailable':
    'Una parte del servicio no responde. No se ha cambiado nada. Inténtalo después del tiempo de "Retry-After".',
}

export const problemPages = {
  titles,
  meanings,
  other: 'El servicio rechazó la solicitud. Su "detail" dice por qué.',
  status: 'Estado HTTP',
  kind: 'Tipo',
  about: 'La API responde con este tipo de problema (RFC 9457) cuando rechaza una solicitud.',
}
