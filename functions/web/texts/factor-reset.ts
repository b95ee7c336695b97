const en = {
  resetTitle: (name: string) => `Has ${name} lost the phone?`,
  resetFirst: 'With two recovery codes, the person signs in and sets up a new phone. Ask for those first.',
  resetSure: (name: string) =>
    `Talk to ${name} before you go on, in person or at a number that you know already. Somebody else may ask in their name.`,
  resetWhat:
    'The second step and the password of the account are removed later, not now. Until then the person gets an email, and can cancel it. Afterwards another email has a link to set a new password.',
  resetPlatform: 'If the person works in other shops too, the people who run the platform must confirm it.',
  resetConfirm: 'Ask for the reset',
  cancelTitle: (email: string) => `Keep the second step of ${email}?`,
  cancelText:
    'Somebody says that you lost your phone, and asked to remove the second step and the password of your account.',
  cancelConfirm: 'Keep my second step',
  cancelNothing: 'If the second step was removed, or the request was cancelled, this link does nothing any more.',
}

const es: typeof en = {
  resetTitle: (name) => `¿Perdió ${name} su teléfono?`,
  resetFirst:
    'Con dos códigos de recuperación, la persona inicia sesión y configura un teléfono nuevo. Pregunte primero por esos códigos.',
  resetSure: (name) =>
    `Hable con ${name} antes de seguir, en persona o en un número que ya conozca. Otra persona podría pedirlo en su nombre.`,
  resetWhat:
    'El segundo paso y la contraseña de la cuenta se quitan más tarde, no ahora. Hasta entonces, la persona recibe un correo y puede cancelarlo. Después, otro correo tiene un enlace para crear una contraseña nueva.',
  resetPlatform: 'Si la persona trabaja también en otras tiendas, quienes administran la plataforma deben confirmarlo.',
  resetConfirm: 'Pedir el restablecimiento',
  cancelTitle: (email) => `¿Conservar el segundo paso de ${email}?`,
  cancelText: 'Alguien dice que usted perdió su teléfono y pidió quitar el segundo paso y la contraseña de su cuenta.',
  cancelConfirm: 'Conservar mi segundo paso',
  cancelNothing: 'Si el segundo paso ya se quitó, o la solicitud se canceló, este enlace ya no hace nada.',
}

/** The pages on which a lost phone is reported, and the report cancelled. Few open them, so a start of the function reads none of these texts. */
export const factorReset = { en, es }
