const en = {
  ownRoleTitle: (role: string) => `Change your own role to ${role}?`,
  loses: 'You will no longer be able to:',
  losesNothing: 'You can still do everything that you can do now.',
  othersGive: 'Only somebody else can give you your present role again.',
  changeOwn: 'Change my own role',
  leaveTitle: (shop: string) => `Leave ${shop}?`,
  leaveText: (shop: string) =>
    `You will lose access to ${shop} immediately, on every device. Only somebody who works there can invite you again.`,
  leaveConfirm: 'Leave the shop',
  leaveOwner: 'A shop needs at least one owner. If you are the only one, make somebody else an owner first:',
  endSessionsTitle: (name: string) => `End the sessions of ${name}?`,
  endSessionsText: (name: string, shop: string) =>
    `${name} stays a member of ${shop}, and has to sign in again to work there, on every device.`,
  endSessionsPassword: (name: string) =>
    `If somebody else may know the password, ask ${name} to change it: whoever knows it can sign in again.`,
  removeTitle: (name: string) => `Remove ${name}?`,
  removeText: (name: string, shop: string) =>
    `${name} will lose access to ${shop} immediately, on every device. You can invite them again later.`,
  removeConfirm: 'Remove from the shop',
  keysStay: 'These API keys that the person created stay. Revoke those that nobody needs:',
  cancelConfirm: 'Cancel the invitation',
  cancelTitle: (email: string) => `Cancel the invitation of ${email}?`,
  cancelText: 'The link in the mail will no longer work. You can invite the person again later.',
}

const es: typeof en = {
  ownRoleTitle: (role) => `¿Cambiar su propio rol a ${role}?`,
  loses: 'Ya no podrá:',
  losesNothing: 'Podrá seguir haciendo todo lo que puede hacer ahora.',
  othersGive: 'Solo otra persona puede darle de nuevo su rol actual.',
  changeOwn: 'Cambiar mi propio rol',
  leaveTitle: (shop) => `¿Dejar ${shop}?`,
  leaveText: (shop) =>
    `Perderá de inmediato el acceso a ${shop}, en todos los dispositivos. Solo alguien que trabaje allí podrá invitarle de nuevo.`,
  leaveConfirm: 'Dejar la tienda',
  leaveOwner:
    'Una tienda necesita al menos un propietario. Si usted es el único, nombre primero propietario a otra persona:',
  endSessionsTitle: (name) => `¿Terminar las sesiones de ${name}?`,
  endSessionsText: (name, shop) =>
    `${name} sigue siendo miembro de ${shop} y tendrá que iniciar sesión de nuevo para trabajar allí, en todos los dispositivos.`,
  endSessionsPassword: (name) =>
    `Si otra persona puede conocer la contraseña, pida a ${name} que la cambie: quien la conozca puede volver a iniciar sesión.`,
  removeTitle: (name) => `¿Quitar a ${name}?`,
  removeText: (name, shop) =>
    `${name} perderá de inmediato el acceso a ${shop}, en todos los dispositivos. Puede volver a invitarle más tarde.`,
  removeConfirm: 'Quitar de la tienda',
  keysStay: 'Estas claves de API que creó la persona siguen vigentes. Revoque las que nadie necesite:',
  cancelConfirm: 'Cancelar la invitación',
  cancelTitle: (email) => `¿Cancelar la invitación de ${email}?`,
  cancelText: 'El enlace del correo dejará de funcionar. Puede volver a invitar a la persona más tarde.',
}

/** What the pages say that ask before a membership, a role or a session ends. */
export const memberQuestions = { en, es }
