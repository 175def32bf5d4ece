export const plural = (n) => Number((n != 1));
export default {};
